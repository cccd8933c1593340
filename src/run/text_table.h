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

// A step that makes a table fit: a column's cells are shortened to `most` characters (3 at least), or all of it is left out (0).
struct Squeeze {
  std::string title;
  size_t most = 0;
};
// Returns a table at most `width` characters wide (0: as wide as it is) if `steps`, taken in their order until it fits, can
// make it so. A last line says what was shortened or left out, and that --json has all. Lines that are too wide even so end in
// "..".
std::string fitted_table(std::vector<TextColumn> columns, size_t width, const std::vector<Squeeze>& steps);

// Lines of words, at most `width` wide where no word is longer.
std::vector<std::string> wrapped(const std::string& text, size_t width);
// Each line of `text` at most `width` wide (0: as it is); what goes on below is indented by four more. A line that begins with "deepgap "
// is a command: it breaks between its arguments, with a "\\" that makes a shell read on.
std::string wrapped_lines(const std::string& text, size_t width);

}  // namespace deepgap
