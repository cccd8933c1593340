#include "run/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

size_t width_of(const TextColumn& column) {
  size_t width = column.title.size();
  for (const std::string& cell : column.cells) width = std::max(width, cell.size());
  return width;
}

}  // namespace

std::string text_table(const std::vector<TextColumn>& columns) {
  if (columns.empty()) return {};
  std::string table;
  for (size_t row = 0; row <= columns.front().cells.size(); ++row) {
    std::string line;
    for (const TextColumn& column : columns) {
      const std::string& cell = row == 0 ? column.title : column.cells[row - 1];
      line += column.right ? fmt::format("{:>{}}  ", cell, width_of(column)) : fmt::format("{:<{}}  ", cell, width_of(column));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  return table;
}

}  // namespace deepgap
