#include "backends/tensorflow/tf_backend.h"

DEEPGAP_BACKEND(deepgap::TfBackend);
