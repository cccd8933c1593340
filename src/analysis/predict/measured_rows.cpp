#include "analysis/predict/measured_rows.h"

#include "base/text.h"

#include <packed_measured_rows.h>

#include <cstdlib>

namespace deepgap {
namespace {

double number(const std::string& cell) { return std::strtod(cell.c_str(), nullptr); }

}  // namespace

std::vector<std::string> measured_engines() {
  std::vector<std::string> names;
  for (const auto& [name, text] : packed_measured_rows()) names.push_back(name);
  return names;
}

std::vector<MeasuredRow> measured_rows(const std::string& engine) {
  std::vector<MeasuredRow> rows;
  for (const auto& [name, text] : packed_measured_rows()) {
    if (name != engine) continue;
    const auto lines = split(trim(text), '\n');
    for (size_t i = 1; i < lines.size(); ++i) {
      const auto cells = split(lines[i], ',');
      rows.push_back({cells.at(0), cells.at(1), cells.at(2), number(cells.at(3)), 1e-3 * number(cells.at(4)), number(cells.at(5)) * 1048576,
                      number(cells.at(6))});
    }
  }
  return rows;
}

}  // namespace deepgap
