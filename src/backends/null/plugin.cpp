#include "backends/null/null_backend.h"

DEEPGAP_BACKEND(deepgap::NullBackend);
