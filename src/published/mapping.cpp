#include "published/mapping.h"

#include "base/text.h"
#include "packed_mappings.h"
#include "plan/toml_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace deepgap {
namespace {

class MappingReader {
 public:
  MappingReader(const std::string& text, const std::string& label) : file_(text, label) { mapping_.name = label; }

  Mapping read() {
    for (const auto& [key, node] : in_file_order(file_.root())) {
      if (key == "name") {
        mapping_.name = file_.text(key, *node);
      } else if (key == "source") {
        mapping_.source = file_.text(key, *node);
      } else if (key == "all") {
        read_all(file_.table(key, *node));
      } else if (key == "columns") {
        for (const auto& [column, meaning] : in_file_order(file_.table(key, *node))) read_column(column, *meaning);
      } else {
        file_.fail(*node, unknown_name("key", key, {"name", "source", "all", "columns"}));
      }
    }
    if (mapping_.columns.empty()) throw Error(ErrorKind::input, fmt::format("{}: no [columns] in it", mapping_.name));
    return std::move(mapping_);
  }

 private:
  void read_all(const toml::table& table) {
    for (const auto& [name, node] : in_file_order(table)) {
      file_.at(*node, [&, &name = name] {
        if (meaning_of(name).kind == Meaning::Kind::number)
          throw Error(ErrorKind::usage, "[all] is for what was measured, not for results");
      });
      mapping_.all[name] = file_.scalar(name, *node);
    }
  }

  void read_column(const std::string& column, const toml::node& node) {
    const auto* list = node.as_array();
    if (list == nullptr) {
      add_meaning(column, node);
    } else {
      for (const toml::node& each : *list) add_meaning(column, each);
    }
  }

  void add_meaning(const std::string& column, const toml::node& node) {
    ColumnMeaning added;
    added.column = column;
    if (node.is_string()) {
      file_.at(node, [&] { added.meaning = meaning_of(node.as_string()->get()); });
      mapping_.columns.push_back(added);
      return;
    }
    const toml::table& table = file_.table(column, node);
    const toml::node* is = table.get("is");
    if (is == nullptr) file_.fail(node, fmt::format("'{}' needs what it 'is'", column));
    file_.at(*is, [&] { added.meaning = meaning_of(file_.text("is", *is)); });
    for (const auto& [key, value] : in_file_order(table)) {
      if (key == "unit") {
        file_.at(*value, [&, &value = value] { added.factor = unit_factor(file_.text("unit", *value), added.meaning); });
      } else if (key == "values") {
        for (const auto& [printed, ours] : in_file_order(file_.table(key, *value))) added.values[printed] = file_.scalar(printed, *ours);
      } else if (key != "is") {
        file_.fail(*value, unknown_name("key", key, {"is", "unit", "values"}));
      }
    }
    mapping_.columns.push_back(std::move(added));
  }

  TomlFile file_;
  Mapping mapping_;
};

std::set<std::string> columns_of(const Mapping& mapping) {
  std::set<std::string> columns;
  for (const ColumnMeaning& column : mapping.columns) columns.insert(column.column);
  return columns;
}

const std::vector<Mapping>& bundled_mappings() {
  static const std::vector<Mapping> mappings = [] {
    std::vector<Mapping> read;
    for (const auto& [name, text] : packed_mappings()) read.push_back(read_mapping(std::string(text), name));
    return read;
  }();
  return mappings;
}

// deepgap's own words as columns need no Mapping.
Mapping mapping_by_name(const std::vector<std::string>& header, const std::string& path) {
  Mapping mapping{"the columns' own names", {}, {}, {}};
  for (const std::string& column : header) {
    try {
      mapping.columns.push_back({column, meaning_of(column), 1, {}});
    } catch (const Error&) {
      throw Error(ErrorKind::input, fmt::format("{}: no bundled mapping has the columns of this table, and deepgap does not know '{}'; map "
                                                "the columns with --mapping MAP.toml",
                                                path, column));
    }
  }
  return mapping;
}

}  // namespace

bool Mapping::has_column(const std::string& column) const {
  return std::any_of(columns.begin(), columns.end(), [&](const ColumnMeaning& each) { return each.column == column; });
}

Mapping read_mapping(const std::string& text, const std::string& label) { return MappingReader(text, label).read(); }

Mapping mapping_for(const std::vector<std::string>& header, const std::string& path) {
  const std::set<std::string> columns(header.begin(), header.end());
  for (const Mapping& mapping : bundled_mappings()) {
    if (columns_of(mapping) == columns) return mapping;
  }
  return mapping_by_name(header, path);
}

}  // namespace deepgap
