// A cuBLASLt beside the played driver (cuda/fake_cublas_lt.h). It computes nothing. DEEPGAP_PLAYED_GPU sets it, too:
//     lt_starts=RESULT, lt_runs=RESULT   what opening it on a device, and a product, come to
#include "cuda/fake_cublas_lt.h"

#include "played_gpu.h"

namespace {

using deepgap::cuda::FakeCublasLt;

// Lives as long as the process: threads may call it to the end.
const deepgap::cuda::CublasLt& table() {
  static FakeCublasLt* library = [] {
    auto* made = new FakeCublasLt;
    made->computes = false;
    for (const auto& [name, value] : played_settings()) {
      if (name == "lt_starts") made->starts = std::stoi(value);
      if (name == "lt_runs") made->runs = std::stoi(value);
    }
    return made;
  }();
  static const deepgap::cuda::CublasLt& made = library->table();
  return made;
}

}  // namespace

#define DEEPGAP_PLAYED(result, name, parameters) DEEPGAP_PLAYED_FUNCTION(name, table().name)
DEEPGAP_CUBLAS_LT_FUNCTIONS(DEEPGAP_PLAYED)
#undef DEEPGAP_PLAYED
