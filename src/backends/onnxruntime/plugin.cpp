#include "backends/onnxruntime/ort_backend.h"

DEEPGAP_BACKEND(deepgap::OrtBackend);
