#include "backends/kserve/fault.h"

#include "base/words.h"

namespace deepgap {

std::string short_words(std::string_view text) {
  constexpr size_t most = 160;
  std::string line = printable(one_line(std::string(text.substr(0, 4 * most))));
  if (line.size() > most) line = line.substr(0, most) + "...";
  return line;
}

}  // namespace deepgap
