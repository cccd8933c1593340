// A table as text, its columns aligned. Pure.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

struct TextColumn {
  std::string title;
  bool right = false;              // aligned to the right, as numbers are
  std::vector<std::string> cells;  // as many as in the other columns
};

// A line of titles, then one for each row.
std::string text_table(const std::vector<TextColumn>& columns);

}  // namespace deepgap
