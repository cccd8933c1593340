// Keeps the tuned configurations between processes.
#pragma once

#include "engine/gpu/launch.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace deepgap::gpu {

// Returns the tuned configurations that are bundled for chips like this one (same architecture, as many multiprocessors), then those for
// the device of the driver's name: of two lines for one key the last one counts. Empty if there are neither.
std::string shipped_winners(std::string_view device, const Chip& chip);
// Returns the line behind the first of a bundled file: what its configurations were measured on.
std::string chip_line(const Chip& chip);
std::string tuned_file_name(std::string_view device);  // letters, digits and dashes

// Winners by Convolution::key: a text file whose first line says what it is, then lines "key<TAB>variant<TAB>nanoseconds". It is replaced
// whole, and what other processes added meanwhile is kept; a file that cannot be read, or is of another version, is as none, and so is a
// line that is not an entry.
class TunedFile {
 public:
  // An empty path remembers nothing. `shipped`: the text of such a file, of which what was found here takes nothing away.
  explicit TunedFile(std::string path, std::string_view shipped = {});
  const std::string* find(const std::string& key) const;
  // Among keys that are `before`, a number and `behind`, finds the entry whose number is nearest to this one, not equal to it and at a
  // ratio of at most three; the lower of two that are as near. Returns nullptr if there is none.
  const std::string* find_nearest(const std::string& before, int64_t number, const std::string& behind) const;
  // Finds the first entry whose key begins so.
  const std::string* find_beginning(const std::string& beginning) const;
  void add(const std::string& key, const std::string& variant, long long nanoseconds);
  bool empty() const { return known_.empty(); }
  void save();  // saves what was added; if that fails it is measured again next time

 private:
  struct Winner {
    std::string variant;
    long long nanoseconds = 0;
  };
  using Winners = std::map<std::string, Winner>;
  static Winners read(const std::string& path);
  static Winners parse(const std::string& text);
  std::string path_;
  Winners known_, added_;
};

}  // namespace deepgap::gpu
