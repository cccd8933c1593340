#include "cli/axis_values.h"

#include "base/text.h"
#include "model/zoo/zoo.h"
#include "plan/study.h"
#include "plan/usual_names.h"
#include "stats/latency_bound.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <unordered_set>

namespace deepgap {
namespace {

bool takes_files(const std::string& axis) { return axis == "model" || axis == "dataset" || axis == "weights" || axis == "trace"; }

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

// Letters and digits alone, small: what is left of a name when its spelling is.
std::string bare(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

// The longest run of `parts` from `begin` on that is the name of one file with commas; 0: none is. Few names have more commas than this.
size_t parts_of_file(const std::vector<std::string>& parts, size_t begin) {
  constexpr size_t most_parts = 64;
  for (size_t count = std::min(parts.size() - begin, most_parts); count > 1; --count) {
    const auto first = parts.begin() + static_cast<std::ptrdiff_t>(begin);
    if (exists(join({first, first + static_cast<std::ptrdiff_t>(count)}, ","))) return count;
  }
  return 0;
}

std::string usual(const std::string& axis, const std::string& value) {
  return axis == "model" ? usual_model(value) : usual_name(axis, value);
}

}  // namespace

std::vector<std::string> axis_values(const std::string& axis, const std::string& text, const std::string& place) {
  std::vector<std::string> values, others;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& value) {
    if (seen.insert(value).second) values.push_back(value);
  };
  const auto add_others = [&] {
    if (others.empty()) return;
    for (const std::string& value : parse_axis_values(join(others, ","), place)) add(usual(axis, value));
    others.clear();
  };
  const std::vector<std::string> parts = split(text, ',');
  if (axis == "bound") return join_bounds(parts);
  for (size_t i = 0; i < parts.size();) {
    const size_t count = takes_files(axis) ? parts_of_file(parts, i) : 0;
    if (count == 0) {
      others.push_back(parts[i++]);
      continue;
    }
    add_others();
    const auto first = parts.begin() + static_cast<std::ptrdiff_t>(i);
    add(join({first, first + static_cast<std::ptrdiff_t>(count)}, ","));
    i += count;
  }
  add_others();
  return values;
}

std::string usual_model(const std::string& name) {
  const size_t colon = std::min(name.find(':'), name.size());
  const std::string base = name.substr(0, colon);
  const std::vector<std::string> known = zoo_names();
  if (std::find(known.begin(), known.end(), base) != known.end() || base.find_first_of("./") != base.npos || exists(name)) return name;
  const auto found = std::find_if(known.begin(), known.end(), [&](const std::string& other) { return bare(other) == bare(base); });
  return found == known.end() ? name : *found + name.substr(colon);
}

bool is_zoo_name(const std::string& name) {
  const std::vector<std::string> known = zoo_names();
  const std::string usual = usual_model(name);
  return std::find(known.begin(), known.end(), usual.substr(0, usual.find(':'))) != known.end();
}

bool is_study_word(const std::string& word) {
  std::string extension = std::filesystem::path(word).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".toml";
}

}  // namespace deepgap
