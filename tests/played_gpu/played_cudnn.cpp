// A cuDNN beside the played driver (cuda/fake_cudnn.h). It computes nothing. DEEPGAP_PLAYED_GPU sets it, too:
//     dnn_starts=RESULT, dnn_runs=RESULT   what opening it on a device, and a convolution, come to
#include "cuda/fake_cudnn.h"

#include "played_gpu.h"

namespace {

using deepgap::cuda::FakeCudnn;

// Lives as long as the process: threads may call it to the end.
const deepgap::cuda::Cudnn& table() {
  static FakeCudnn* library = [] {
    auto* made = new FakeCudnn;
    made->computes = false;
    for (const auto& [name, value] : played_settings()) {
      if (name == "dnn_starts") made->starts = std::stoi(value);
      if (name == "dnn_runs") made->runs = std::stoi(value);
    }
    return made;
  }();
  static const deepgap::cuda::Cudnn& made = library->table();
  return made;
}

}  // namespace

#define DEEPGAP_PLAYED(result, name, parameters) DEEPGAP_PLAYED_FUNCTION(name, table().name)
DEEPGAP_CUDNN_FUNCTIONS(DEEPGAP_PLAYED)
#undef DEEPGAP_PLAYED
