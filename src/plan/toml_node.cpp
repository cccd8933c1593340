#include "plan/toml_node.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

constexpr int most_nested = 32;  // parts of a dotted key, and brackets in brackets

// Returns the position behind the string that begins at `at`, or behind the line if the string does not end; the parser reports that.
size_t behind_string(std::string_view text, size_t at) {
  const char quote = text[at];
  const bool many_lines = text.substr(at, 3) == std::string(3, quote);
  const std::string end(many_lines ? 3 : 1, quote);
  for (at += end.size(); at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text.substr(at, end.size()) == end) {
      return at + end.size();
    } else if (text[at] == '\n' && !many_lines) {
      return at;
    }
  }
  return text.size();
}

// The line where something is nested too deep for a parser that takes its stack for it.
std::optional<int> line_too_deep(std::string_view text) {
  int line = 1, parts = 1, brackets = 0;
  for (size_t at = 0; at < text.size();) {
    const char sign = text[at];
    size_t next = at + 1;
    if (sign == '"' || sign == '\'') {
      next = behind_string(text, at);
      line += static_cast<int>(
          std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(next), '\n'));
    } else if (sign == '#') {
      next = std::min(text.find('\n', at), text.size());
    } else if (sign == '.') {
      ++parts;
    } else if (std::string_view("=,[]{}\n").find(sign) != std::string_view::npos) {
      parts = 1;
      if (sign == '[' || sign == '{') ++brackets;
      if (sign == ']' || sign == '}') brackets = std::max(0, brackets - 1);
      if (sign == '\n') ++line;
    }
    if (parts > most_nested || brackets > most_nested) return line;
    at = next;
  }
  return std::nullopt;
}

}  // namespace

TomlFile::TomlFile(const std::string& text, std::string path) : path_(std::move(path)) {
  if (const auto line = line_too_deep(text)) {
    throw Error(ErrorKind::input, fmt::format("{}:{}: nested deeper than {} (keys with dots, or brackets)", path_, *line, most_nested));
  }
  try {
    root_ = toml::parse(std::string_view(text), path_);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::input, fmt::format("{}:{}: {}", path_, error.source().begin.line, first_line(error.description())));
  }
}

std::string TomlFile::place(const toml::node& node) const { return fmt::format("{}:{}", path_, node.source().begin.line); }

void TomlFile::fail(const toml::node& node, const std::string& cause) const {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", place(node), cause));
}

std::string TomlFile::text(const std::string& key, const toml::node& node) const {
  if (!node.is_string()) fail(node, fmt::format("'{}' must be a text in quotes", key));
  return node.as_string()->get();
}

int64_t TomlFile::whole(const std::string& key, const toml::node& node, int64_t least, int64_t most) const {
  const auto* number = node.as_integer();
  if (number == nullptr || number->get() < least || number->get() > most) {
    fail(node, fmt::format("'{}' must be a whole number from {} to {}", key, least, most));
  }
  return number->get();
}

int64_t TomlFile::duration_ns(const std::string& key, const toml::node& node) const {
  const auto duration = node.is_string() ? parse_duration(node.as_string()->get()) : std::nullopt;
  if (!duration || *duration == 0) fail(node, fmt::format("'{}' must be a time with its unit, such as \"500ms\", \"8s\" or \"2m\"", key));
  return *duration;
}

double TomlFile::fraction(const std::string& key, const toml::node& node) const {
  std::optional<double> value;
  if (node.is_string()) value = parse_fraction(node.as_string()->get());
  if (const auto* number = node.as_floating_point()) value = number->get();
  if (!value || !(*value > 0 && *value < 1))
    fail(node, fmt::format("'{}' must be a percentage or fraction below 100 %, such as \"1%\" or 0.01", key));
  return *value;
}

bool TomlFile::yes(const std::string& key, const toml::node& node) const {
  if (const auto* truth = node.as_boolean()) return truth->get();
  const std::string word = node.is_string() ? node.as_string()->get() : "";
  if (word != "on" && word != "off") fail(node, fmt::format("'{}' must be true or false", key));
  return word == "on";
}

const toml::table& TomlFile::table(const std::string& key, const toml::node& node) const {
  const auto* table = node.as_table();
  if (table == nullptr) fail(node, fmt::format("'{}' must be a table", key));
  return *table;
}

std::string TomlFile::scalar(const std::string& key, const toml::node& node) const {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  fail(node, fmt::format("'{}' must be a text, a number, true, false or a list of them", key));
}

std::vector<std::pair<std::string, const toml::node*>> in_file_order(const toml::table& table) {
  std::vector<std::pair<std::string, const toml::node*>> entries;
  for (const auto& [key, node] : table) entries.emplace_back(std::string(key.str()), &node);
  const auto position = [](const auto& entry) {
    const auto& begin = entry.second->source().begin;
    return std::pair(begin.line, begin.column);
  };
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) { return position(a) < position(b); });
  return entries;
}

}  // namespace deepgap
