#include "backends/openvino/ov_backend.h"

DEEPGAP_BACKEND(deepgap::OvBackend);
