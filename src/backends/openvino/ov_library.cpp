#include "backends/openvino/ov_library.h"

#include "backends/common/hidden_amx.h"

#include <algorithm>
#include <vector>

namespace deepgap {
namespace {

// This runs before the library's kernels look at the CPU, which they do once.
ov::Core* make_core() {
  keep_off_hidden_amx();
  return new ov::Core;
}

}  // namespace

ov::Core& ov_core() {
  static auto* const core = make_core();
  return *core;
}

std::string ov_cpu_name() {
  static const std::string name = ov_core().get_property("CPU", ov::device::full_name);
  return name;
}

bool ov_cpu_can(const std::string& capability) {
  static const std::vector<std::string> all = ov_core().get_property("CPU", ov::device::capabilities);
  return std::find(all.begin(), all.end(), capability) != all.end();
}

}  // namespace deepgap
