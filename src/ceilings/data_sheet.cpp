#include "ceilings/data_sheet.h"

#include "base/text.h"

#include <packed_data_sheets.h>

#include <cctype>
#include <cstdlib>

namespace deepgap {
namespace {

std::vector<DataSheet> parsed(const std::string& text) {
  std::vector<DataSheet> sheets;
  const auto lines = split(trim(text), '\n');
  const auto header = split(lines.front(), ',');
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto cells = split(lines[i], ',');
    DataSheet sheet{.match = cells.at(0), .variant = cells.at(1), .architecture = cells.at(2), .source = cells.back()};
    for (size_t column = 3; column + 1 < cells.size(); ++column) {
      if (cells[column].empty()) continue;
      const double value = std::strtod(cells[column].c_str(), nullptr);
      const std::string& name = header.at(column);
      if (name == "memory_gb_per_s")
        sheet.memory_bytes_per_s = value * 1e9;
      else if (name == "memory_gb")
        sheet.memory_bytes = value * 0x1p30;
      else if (name == "power_w")
        sheet.power_w = value;
      else
        sheet.flop_per_s[name] = value * 1e12;
    }
    sheets.push_back(std::move(sheet));
  }
  return sheets;
}

// "NVIDIA A10" is not part of "NVIDIA A100-SXM4-80GB".
bool names(const std::string& device, const std::string& match) {
  const size_t at = device.find(match);
  if (at == std::string::npos) return false;
  const size_t end = at + match.size();
  return end == device.size() || std::isalnum(static_cast<unsigned char>(device[end])) == 0 ||
         std::isalnum(static_cast<unsigned char>(match.back())) == 0;
}

}  // namespace

const std::vector<DataSheet>& data_sheets() {
  static const std::vector<DataSheet> sheets = parsed(std::string(packed_data_sheets().front().second));
  return sheets;
}

std::optional<DataSheet> data_sheet_of(const std::string& device) {
  const DataSheet* best = nullptr;
  for (const DataSheet& sheet : data_sheets())
    if (names(device, sheet.match) && (best == nullptr || sheet.match.size() > best->match.size())) best = &sheet;
  return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace deepgap
