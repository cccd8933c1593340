#include "backends/openvino/ov_library.h"

#include <algorithm>
#include <vector>

namespace deepgap {

ov::Core& ov_core() {
  static auto* const core = new ov::Core;
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
