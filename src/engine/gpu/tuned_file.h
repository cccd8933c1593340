// What the tuner found to be the quickest, kept between processes.
#pragma once

#include <map>
#include <string>

namespace deepgap::gpu {

// Winners by Convolution::key: a text file whose first line says what it is, then lines "key<TAB>variant<TAB>nanoseconds". It is replaced
// whole, and what other processes added meanwhile is kept; a file that cannot be read, or is of another version, is as none, and so is a
// line that is no winner.
class TunedFile {
 public:
  explicit TunedFile(std::string path);  // empty: remembers nothing
  const std::string* find(const std::string& key) const;
  void add(const std::string& key, const std::string& variant, long long nanoseconds);
  void save();  // what was added; where that fails it is measured again next time

 private:
  struct Winner {
    std::string variant;
    long long nanoseconds = 0;
  };
  using Winners = std::map<std::string, Winner>;
  static Winners read(const std::string& path);
  std::string path_;
  Winners known_, added_;
};

}  // namespace deepgap::gpu
