#include "engine/gpu/tuned_file.h"

#include <shipped_texts.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace deepgap::gpu {

std::string tuned_file_name(std::string_view device) {
  std::string name(device);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return name;
}

std::string chip_line(const Chip& chip) { return fmt::format("{}, {} multiprocessors", chip.target(), chip.multiprocessors); }

std::string shipped_winners(std::string_view device, const Chip& chip) {
  const std::string name = tuned_file_name(device), line = "\n" + chip_line(chip) + "\n";
  std::string alike, own;
  for (const auto& [of, text] : shipped_texts()) {
    if (of == name)
      own = text;
    else if (std::string_view(text).find(line) != std::string_view::npos)
      alike = text;
  }
  return alike + own;
}

}  // namespace deepgap::gpu
