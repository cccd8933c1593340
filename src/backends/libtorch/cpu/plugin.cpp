// What the plug-in calls once the library is loaded.
#include "backends/libtorch/cpu/cpu_backend.h"

extern "C" __attribute__((visibility("default"))) deepgap::Backend* deepgap_libtorch_engine() { return new deepgap::TorchCpuBackend; }
