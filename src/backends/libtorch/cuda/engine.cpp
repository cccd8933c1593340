// What the plug-in calls once LibTorch is loaded.
#include "backends/libtorch/cuda/cuda_backend.h"

extern "C" __attribute__((visibility("default"))) deepgap::Backend* deepgap_libtorch_engine() { return new deepgap::TorchCudaBackend; }
