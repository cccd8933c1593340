#include "backends/generate/onnx_generate_tests.h"
#include "backends/libtorch/cpu/cpu_backend.h"

namespace deepgap {

INSTANTIATE_TYPED_TEST_SUITE_P(Torch, OnnxGenerate, TorchCpuBackend);

}  // namespace deepgap
