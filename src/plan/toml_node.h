// A TOML file read strictly: every value is taken with its type, and whatever is wrong is one line "FILE:LINE: cause".
#pragma once

#include <deepgap/error.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <toml++/toml.h>

namespace deepgap {

class TomlFile {
 public:
  // Parses `text`; `path` is for errors. Throws Error{input} where it is no TOML.
  TomlFile(const std::string& text, std::string path);

  const toml::table& root() const { return root_; }
  std::string place(const toml::node& node) const;  // "FILE:LINE"
  // Throws Error{usage} "FILE:LINE: cause" with the line of `node`.
  [[noreturn]] void fail(const toml::node& node, const std::string& cause) const;
  // Runs `work`; an Error it throws gets the line of `node`.
  template <typename Work>
  void at(const toml::node& node, const Work& work) const {
    try {
      work();
    } catch (const Error& error) {
      fail(node, error.what());
    }
  }

  std::string text(const std::string& key, const toml::node& node) const;
  int64_t whole(const std::string& key, const toml::node& node, int64_t least, int64_t most) const;
  int64_t duration_ns(const std::string& key, const toml::node& node) const;  // "500ms", more than 0
  double fraction(const std::string& key, const toml::node& node) const;      // "5%" or 0.05, between 0 and 1
  bool yes(const std::string& key, const toml::node& node) const;             // true, false, "on", "off"
  const toml::table& table(const std::string& key, const toml::node& node) const;
  std::string scalar(const std::string& key, const toml::node& node) const;  // text, number or truth as it is written in an option

 private:
  std::string path_;
  toml::table root_;
};

// The entries as they stand in the file; the library sorts them by name.
std::vector<std::pair<std::string, const toml::node*>> in_file_order(const toml::table& table);

}  // namespace deepgap
