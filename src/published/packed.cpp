#include "published/packed.h"

#include "packed_texts.h"

#include <deepgap/error.h>

namespace deepgap {

const std::vector<std::pair<std::string, std::string_view>>& packed_files() {
  static const std::vector<std::pair<std::string, std::string_view>> files = packed_texts();
  return files;
}

std::string_view packed_file(const std::string& name) {
  for (const auto& [known, text] : packed_files()) {
    if (known == name) return text;
  }
  throw Error(ErrorKind::internal, "no packed file " + name);
}

}  // namespace deepgap
