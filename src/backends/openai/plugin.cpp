#include "backends/openai/openai_backend.h"

DEEPGAP_BACKEND(deepgap::OpenaiBackend);
