#include "backends/xla/xla_backend.h"

DEEPGAP_BACKEND(deepgap::XlaBackend);
