#include "engine/gpu/tuned_file.h"

#include <shipped_texts.h>

#include <algorithm>
#include <cctype>

namespace deepgap::gpu {

std::string tuned_file_name(std::string_view device) {
  std::string name(device);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return name;
}

std::string_view shipped_winners(std::string_view device) {
  const std::string name = tuned_file_name(device);
  for (const auto& [of, text] : shipped_texts())
    if (of == name) return text;
  return {};
}

}  // namespace deepgap::gpu
