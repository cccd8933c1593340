#include "backends/native/native_backend.h"

DEEPGAP_BACKEND(deepgap::NativeBackend);
