#include "model/decoder/decoder_steps.h"

#include <algorithm>
#include <cctype>

namespace deepgap {

std::map<std::string, double> shares_of_types(const std::map<std::string, int64_t>& numbers) {
  double all = 0;
  for (const auto& [type, count] : numbers) all += static_cast<double>(count);
  std::map<std::string, double> shares;
  for (const auto& [type, count] : numbers) {
    std::string name(type);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    shares[name == "f32" ? "fp32" : name == "f16" ? "fp16" : name] = static_cast<double>(count) / all;
  }
  return shares;
}

}  // namespace deepgap
