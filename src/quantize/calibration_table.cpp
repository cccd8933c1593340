#include "quantize/calibration_table.h"

#include "base/file.h"
#include "base/text.h"
#include "base/words.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cmath>

namespace deepgap {
namespace {

constexpr std::string_view first_line = "deepgap calibration table 1";

struct Place {
  const std::string& path;
  size_t line;
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(ErrorKind::input, fmt::format("{}, line {}: {}", path, line, cause));
  }
};

float number(const Place& place, const std::string& text) {
  const auto value = parse_double(text);
  if (!value || !std::isfinite(static_cast<float>(*value))) place.fail(fmt::format("'{}' is not a finite number", one_line(text)));
  return static_cast<float>(*value);
}

// "LOW HIGH NAME"; a name may hold spaces.
void add_range(CalibrationTable& table, const Place& place, const std::string& line) {
  const size_t first = line.find(' ');
  const size_t second = first == std::string::npos ? first : line.find(' ', first + 1);
  if (second == std::string::npos || second + 1 == line.size()) place.fail("not LOW HIGH NAME");
  const Range range{number(place, line.substr(0, first)), number(place, line.substr(first + 1, second - first - 1))};
  if (range.low > 0 || range.high < 0) place.fail("the range does not hold 0");
  const std::string name = line.substr(second + 1);
  if (!table.ranges.emplace(name, range).second) place.fail(fmt::format("'{}' stands there twice", name));
}

}  // namespace

std::string table_text(const CalibrationTable& table) {
  std::string text = fmt::format("{}\nmodel_hash {}\nmodel {}\nmethod {}\ndataset {}\nranges {}\n", first_line, table.model_hash,
                                 one_line(table.model), table.method, one_line(table.dataset), table.ranges.size());
  for (const auto& [name, range] : table.ranges) text += fmt::format("{:.9g} {:.9g} {}\n", range.low, range.high, name);
  return text;
}

CalibrationTable parse_table(const std::string& text, const std::string& path) {
  std::vector<std::string> lines = split(text, '\n');
  if (lines.front() != first_line)
    throw Error(ErrorKind::input, fmt::format("{} is not a calibration table: its first line is not '{}'", path, first_line));
  CalibrationTable table;
  size_t at = 1;
  const auto header = [&](const std::string& key) {
    const Place place{path, at + 1};
    if (at >= lines.size() || !lines[at].starts_with(key + " ")) place.fail(fmt::format("'{}' was expected", key));
    return lines[at++].substr(key.size() + 1);
  };
  table.model_hash = header("model_hash");
  table.model = header("model");
  table.method = header("method");
  table.dataset = header("dataset");
  const std::string count = header("ranges");
  for (; at < lines.size(); ++at) {
    if (at + 1 == lines.size() && lines[at].empty()) break;  // behind the last line's end
    add_range(table, Place{path, at + 1}, lines[at]);
  }
  if (std::to_string(table.ranges.size()) != count)
    throw Error(ErrorKind::input, fmt::format("{} has {} ranges and says {}: it is cut off", path, table.ranges.size(), one_line(count)));
  return table;
}

CalibrationTable read_table(const std::string& path) { return parse_table(read_text(path), path); }

void write_table(const std::string& path, const CalibrationTable& table) { write_file_atomic(path, table_text(table)); }

}  // namespace deepgap
