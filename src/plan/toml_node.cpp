#include "plan/toml_node.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace

TomlFile::TomlFile(const std::string& text, std::string path) : path_(std::move(path)) {
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
  if (!value || !(*value > 0 && *value < 1)) fail(node, fmt::format("'{}' must be a share such as \"1%\" or 0.01", key));
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
