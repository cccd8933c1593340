#include "run/text_table.h"

#include "base/byte_text.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::string characters_of(const std::string& text, size_t first, size_t count) {
  std::string part;
  size_t at = 0;
  for (const char byte : text) {
    if (begins_character(byte)) ++at;
    if (at > first && at <= first + count) part += byte;
  }
  return part;
}

size_t width_of(const TextColumn& column) {
  size_t width = count_characters(column.title);
  for (const std::string& cell : column.cells) width = std::max(width, count_characters(cell));
  return width;
}

size_t width_of(const std::vector<TextColumn>& columns) {
  size_t width = 0;
  for (const TextColumn& column : columns) width += width_of(column) + 2;
  return width < 2 ? 0 : width - 2;
}

// The middle goes: names differ at both ends.
bool shorten(TextColumn& column, size_t width) {
  bool any = false;
  for (std::string& cell : column.cells) {
    const size_t length = count_characters(cell);
    if (length <= width) continue;
    const size_t front = width / 2 - 1, back = width - front - 2;
    cell = characters_of(cell, 0, front) + ".." + characters_of(cell, length - back, back);
    any = true;
  }
  return any;
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

namespace {

// Cuts the end of wider lines; two points mark the cut.
std::string cut_lines(const std::string& text, size_t width) {
  if (width < 4) return text;
  std::string shown;
  for (const std::string& line : split(text, '\n'))
    shown += (count_characters(line) <= width ? line : characters_of(line, 0, width - 2) + "..") + "\n";
  shown.pop_back();
  return shown;
}

}  // namespace

std::string fitted_table(std::vector<TextColumn> columns, size_t width, const std::vector<Squeeze>& steps) {
  std::vector<std::string> cut, left_out;
  for (const Squeeze& step : steps) {
    if (width == 0 || width_of(columns) <= width) break;
    const auto column = std::find_if(columns.begin(), columns.end(), [&](const TextColumn& one) { return one.title == step.title; });
    if (column == columns.end()) continue;
    if (step.most == 0) {
      left_out.push_back(step.title);
      std::erase(cut, step.title);
      columns.erase(column);
    } else if (shorten(*column, step.most) && std::find(cut.begin(), cut.end(), step.title) == cut.end()) {
      cut.push_back(step.title);
    }
  }
  std::string note;
  if (!left_out.empty()) note = "left out: " + join(left_out, ", ");
  if (!cut.empty()) note += (note.empty() ? "" : "; ") + ("shortened: " + join(cut, ", "));
  return cut_lines(text_table(columns), width) + (note.empty() ? "" : wrapped_lines("(" + note + "; --json has all)\n", width));
}

namespace {

std::vector<std::string> filled(const std::vector<std::string>& words, size_t width) {
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    if (!lines.empty() && count_characters(lines.back()) + 1 + count_characters(word) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace

std::vector<std::string> wrapped(const std::string& text, size_t width) { return filled(split(text, ' '), width); }

namespace {

// The words of a command; one in quotes keeps its spaces.
std::vector<std::string> arguments_of(const std::string& command) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char letter : command) {
    if (quote == 0 && letter == ' ') {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    if (quote == 0 && (letter == '\'' || letter == '"'))
      quote = letter;
    else if (letter == quote)
      quote = 0;
    words.back() += letter;
  }
  return words;
}

}  // namespace

std::string wrapped_lines(const std::string& text, size_t width) {
  std::string shown;
  for (const std::string& line : split(text, '\n')) {
    const std::string indent = line.substr(0, std::min(line.find_first_not_of(' '), line.size()));
    const bool fits = width == 0 || count_characters(line) <= width || width < indent.size() + 24;
    const bool is_command = line.compare(indent.size(), 8, "deepgap ") == 0;
    const size_t room = width - indent.size() - (is_command ? 6 : 4);
    const auto parts = fits ? std::vector<std::string>{} : filled(is_command ? arguments_of(line) : split(line, ' '), room);
    shown += (fits ? line : indent + join(parts, (is_command ? " \\\n" : "\n") + indent + "    ")) + "\n";
  }
  shown.pop_back();  // split() gives an empty part behind the last line
  return shown;
}

}  // namespace deepgap
