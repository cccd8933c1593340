#include "backends/generate/onnx_generate_tests.h"
#include "backends/openvino/ov_backend.h"

namespace deepgap {

INSTANTIATE_TYPED_TEST_SUITE_P(Ov, OnnxGenerate, OvBackend);

}  // namespace deepgap
