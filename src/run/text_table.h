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

// What may be done to a column so that a table fits: its cells shortened to `most` characters (3 at least), or all of it left out (0).
struct Squeeze {
  std::string title;
  size_t most = 0;
};
// The same, at most `width` characters wide (0: as wide as it is) where `steps`, taken in their order until it fits, can have it so. A last
// line says what was shortened or left out, and that --json has all.
std::string fitted_table(std::vector<TextColumn> columns, size_t width, const std::vector<Squeeze>& steps);

}  // namespace deepgap
