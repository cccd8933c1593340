#include "backends/kserve/kserve_backend.h"

DEEPGAP_BACKEND(deepgap::KserveBackend);
