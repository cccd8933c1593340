#include "base/csv_reader.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {

CsvReader::CsvReader(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // some programs begin UTF-8 so
}

bool CsvReader::next(CsvRow& row) {
  while (at_ < text_.size() && end_of_line()) {
  }
  if (at_ >= text_.size()) return false;
  row = {.line = line_, .cells = {}};
  do row.cells.push_back(cell(row.is_broken));
  while (separator());
  if (at_ < text_.size()) end_of_line();
  return true;
}

bool CsvReader::separator() {
  const bool is = at_ < text_.size() && text_[at_] == ',';
  at_ += is ? 1 : 0;
  return is;
}

bool CsvReader::end_of_line() {
  if (text_.substr(at_, 2) == "\r\n") {
    at_ += 2;
  } else if (text_[at_] == '\n' || text_[at_] == '\r') {
    ++at_;
  } else {
    return false;
  }
  ++line_;
  return true;
}

std::string CsvReader::cell(bool& is_broken) {
  if (at_ >= text_.size() || text_[at_] != '"') return plain();
  const std::string inside = quoted(), behind = plain();
  is_broken = is_broken || !behind.empty();
  return inside + behind;
}

std::string CsvReader::plain() {
  const size_t begin = at_;
  at_ = std::min(text_.find_first_of(",\r\n", at_), text_.size());
  return std::string(text_.substr(begin, at_ - begin));
}

std::string CsvReader::quoted() {
  const int begun = line_;
  std::string cell;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"') {
      ++at_;
      if (at_ >= text_.size() || text_[at_] != '"') return cell;
    }
    line_ += text_[at_] == '\n' ? 1 : 0;
    cell += text_[at_];
  }
  throw Error(ErrorKind::input, fmt::format("{}:{}: a quote begins here and does not end", path_, begun));
}

}  // namespace deepgap
