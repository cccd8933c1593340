// Reads a Study from TOML. docs/reference/study-file.md describes the format; every key it knows is in the two tables of this file.
#include "plan/point_fields.h"
#include "plan/study.h"
#include "plan/tenants.h"
#include "plan/toml_node.h"

#include "base/file.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace deepgap {
namespace {

constexpr size_t most_bytes = size_t{1} << 20;
constexpr int64_t most_repeats = 100'000;
constexpr int64_t most_queries = int64_t{1} << 40;

constexpr size_t most_repeated = 1'000'000;

size_t size_of(const Grid& grid) {
  size_t values = grid.skips.size();
  for (const Axis& axis : axes_with_tenants(grid)) values += axis.values.size();
  return values;
}

class StudyReader {
 public:
  StudyReader(const std::string& text, const std::string& path) : file_(text, path), path_(path) {}
  Study read();

 private:
  // One [[grid]] or [defaults]: `stops` is the key that said how a run ends, since only one of them may.
  struct Section {
    Grid& grid;
    std::string stops;
    Nanoseconds least = 0;  // min_duration and energy are applied when the rule is known
    bool energy = false;
    std::set<std::string> axes{};                      // named so far: [grid.options] and [grid.axis] may not both name one
    std::unordered_map<std::string, size_t> places{};  // places of the grid's axes, defaults included
  };
  using Setter = std::function<void(Section&, const std::string& key, const toml::node&)>;

  void read_section(Grid& grid, const toml::table& table) const;
  void read_axis(Section& section, const std::string& name, const toml::node& node, bool ranges) const;
  void read_options(Section& section, const std::string& prefix, const toml::table& table, bool ranges) const;
  void read_tenants(Grid& grid, const toml::node& node) const;
  void read_skips(Grid& grid, const toml::node& node) const;
  SkipRule read_skip(const toml::table& table) const;
  void check_skips(const Grid& grid, const toml::table& table) const;
  using Seen = std::unordered_set<std::string>;
  void add_values(Axis& axis, Seen& seen, const toml::node& node, bool ranges) const;
  void unknown_key(const toml::node& node, const std::string& key, const std::vector<std::string>& known, const char* hint) const;
  void stop_by(Section& section, const std::string& key, const toml::node& node, const char* name) const;
  std::vector<std::pair<std::string, Setter>> make_settings() const;

  TomlFile file_;
  std::string path_;
  std::vector<std::pair<std::string, Setter>> settings_ = make_settings();
};

void StudyReader::unknown_key(const toml::node& node, const std::string& key, const std::vector<std::string>& known,
                              const char* hint) const {
  if (nearest_name(key, known) || *hint == '\0') file_.fail(node, unknown_name("key", key, known));
  file_.fail(node, fmt::format("unknown key '{}'; {}", key, hint));
}

// iterations, duration and interval exclude each other within a section; a grid's word replaces that of the defaults.
void StudyReader::stop_by(Section& section, const std::string& key, const toml::node& node, const char* name) const {
  if (!section.stops.empty()) file_.fail(node, fmt::format("'{}' and '{}' each end a run: keep one of them", section.stops, key));
  section.stops = key;
  StoppingSettings& stopping = section.grid.stopping;
  const bool has_least = stopping.name != "duration";  // from the defaults
  stopping.name = name;
  stopping.iterations.reset();
  if (!has_least) stopping.duration.reset();
}

std::vector<std::pair<std::string, StudyReader::Setter>> StudyReader::make_settings() const {
  return {
      {"repeats",
       [this](Section& s, const auto& key, const auto& node) {
         s.grid.repeats = static_cast<int>(file_.whole(key, node, 1, most_repeats));
         s.grid.own_repeats = true;
       }},
      {"sweeps", [this](Section& s, const auto& key,
                        const auto& node) { s.grid.sweeps = static_cast<int>(file_.whole(key, node, 1, most_repeats)); }},
      {"check", [this](Section& s, const auto& key, const auto& node) { s.grid.check = file_.yes(key, node); }},
      {"find_peak", [this](Section& s, const auto& key, const auto& node) { s.grid.find_peak = file_.yes(key, node); }},
      {"warmup",
       [this](Section& s, const auto& key, const auto& node) {
         s.grid.stopping.warmup.reset();
         if (!node.is_string() || node.as_string()->get() != "steady") s.grid.stopping.warmup = file_.whole(key, node, 0, most_queries);
       }},
      {"warmup_budget",
       [this](Section& s, const auto& key, const auto& node) { s.grid.stopping.warmup_budget = file_.duration_ns(key, node); }},
      {"budget",
       [this](Section& s, const auto& key, const auto& node) {
         s.grid.stopping.budget = file_.duration_ns(key, node);
         s.grid.own_budget = true;
       }},
      {"apart", [this](Section& s, const auto& key, const auto& node) { s.grid.apart = file_.yes(key, node); }},
      {"duel", [this](Section& s, const auto& key, const auto& node) { s.grid.duel = file_.text(key, node); }},
      {"margin", [this](Section& s, const auto& key, const auto& node) { s.grid.margin = file_.fraction(key, node); }},
      {"min_duration", [this](Section& s, const auto& key, const auto& node) { s.least = file_.duration_ns(key, node); }},
      {"energy", [this](Section& s, const auto& key, const auto& node) { s.energy = file_.yes(key, node); }},
      {"iterations",
       [this](Section& s, const auto& key, const auto& node) {
         stop_by(s, key, node, "counts");
         s.grid.stopping.iterations = file_.whole(key, node, 1, most_queries);
       }},
      {"duration",
       [this](Section& s, const auto& key, const auto& node) {
         stop_by(s, key, node, "duration");
         s.grid.stopping.duration = file_.duration_ns(key, node);
       }},
      {"interval",
       [this](Section& s, const auto& key, const auto& node) {
         stop_by(s, key, node, "interval");
         s.grid.stopping.interval = file_.fraction(key, node);
       }},
      {"percentile",
       [this](Section& s, const auto& key, const auto& node) {
         const auto target = parse_target(file_.scalar(key, node));
         if (!target || *target == "throughput") file_.fail(node, "'percentile' must be a number between 0 and 100 such as 99 or 99.9");
         s.grid.stopping.target = *target;
       }},
  };
}

void StudyReader::add_values(Axis& axis, Seen& seen, const toml::node& node, bool ranges) const {
  const std::string& name = axis.name;
  if (const auto* list = node.as_array()) {
    if (list->empty()) file_.fail(node, fmt::format("'{}' is an empty list; name at least one value", name));
    for (const toml::node& entry : *list) add_values(axis, seen, entry, ranges && (name == "batch" || name == "threads"));
    return;
  }
  std::vector<std::string> values{file_.scalar(name, node)};
  if (ranges && node.is_string()) file_.at(node, [&] { values = parse_axis_values(values[0], "'" + name + "'"); });
  const std::string place = file_.place(node);
  for (std::string& value : values) {
    if (!seen.insert(value).second) continue;
    axis.values.push_back(std::move(value));
    axis.places.push_back(place);
  }
}

void StudyReader::read_axis(Section& section, const std::string& name, const toml::node& node, bool ranges) const {
  if (!section.axes.insert(name).second) file_.fail(node, fmt::format("'{}' is there twice", name));
  Grid& grid = section.grid;
  Axis axis{name, {}};
  Seen seen;
  add_values(axis, seen, node, ranges);
  file_.at(node, [&] {
    for (const std::string& value : axis.values) {
      Point ignored;
      set_on_point(ignored, name, value, 1);
    }
  });
  const auto [place, is_new] = section.places.try_emplace(name, grid.axes.size());
  if (is_new) {
    grid.axes.push_back(std::move(axis));
  } else {
    grid.axes[place->second] = std::move(axis);
  }
}

void StudyReader::read_options(Section& section, const std::string& prefix, const toml::table& table, bool ranges) const {
  for (const auto& [key, node] : in_file_order(table)) {
    const std::string name = prefix + key;
    if (is_point_field(name)) file_.fail(*node, fmt::format("'{}' is a key of the grid itself: write it above its tables", name));
    if (const auto* nested = node->as_table()) {
      read_options(section, name + ".", *nested, ranges);
    } else {
      read_axis(section, name, *node, ranges);
    }
  }
}

// Reads what a grid knows of axes; how long and how often is for all of them, so it stands in the grid.
void StudyReader::read_tenants(Grid& grid, const toml::node& node) const {
  const auto* tables = node.as_array();
  if (tables == nullptr) file_.fail(node, "write [[grid.tenant]] with double brackets: there are several");
  grid.tenants.clear();  // those of the defaults
  for (const toml::node& entry : *tables) {
    const toml::table& table = file_.table("tenant", entry);
    for (const auto& [key, value] : in_file_order(table)) {
      if (is_point_field(key) || key == "options" || key == "axis") continue;
      std::vector<std::string> known = point_field_names();
      known.insert(known.end(), {"options", "axis"});
      unknown_key(*value, key, known, "a tenant has only axes; set length and repeats in the grid");
    }
    Grid own;
    read_section(own, table);
    grid.tenants.push_back(std::move(own.axes));
  }
}

SkipRule StudyReader::read_skip(const toml::table& table) const {
  SkipRule rule;
  for (const auto& [key, node] : in_file_order(table)) {
    if (key == "reason") {
      rule.reason = file_.text(key, *node);
      if (trim(rule.reason).empty()) file_.fail(*node, "an empty reason; leave the key out to leave the points out of the plan");
      continue;
    }
    const std::string value = trim(file_.scalar(key, *node));
    const size_t sign = std::min(value.find_first_not_of("<>=!"), value.size());
    const std::string op = sign == 0 ? "=" : value.substr(0, sign);
    constexpr std::array<std::string_view, 7> known{"=", "==", "!=", "<", "<=", ">", ">="};
    if (std::find(known.begin(), known.end(), op) == known.end())
      file_.fail(*node, fmt::format("invalid comparison '{}': expected =, !=, <, <=, > or >=", op));
    rule.conditions.push_back({key, op == "==" ? "=" : op, trim(value.substr(sign))});
  }
  if (rule.conditions.empty()) file_.fail(table, "a skip rule without a condition would leave out everything");
  return rule;
}

void StudyReader::read_skips(Grid& grid, const toml::node& node) const {
  const auto* rules = node.as_array();
  if (rules == nullptr) file_.fail(node, "write [[grid.skip]] with double brackets: there may be several");
  for (const toml::node& rule : *rules) grid.skips.push_back(read_skip(file_.table("skip", rule)));
}

// Only now, since a rule may name an option that stands below it. The rules of the defaults came first.
void StudyReader::check_skips(const Grid& grid, const toml::table& table) const {
  std::set<std::string> options;
  for (const Axis& axis : axes_with_tenants(grid)) {
    if (!is_point_field(axis.name)) options.insert(axis.name);
  }
  const auto* rules = table.get("skip") == nullptr ? nullptr : table.get("skip")->as_array();
  const size_t own = rules == nullptr ? 0 : rules->size();
  for (size_t i = 0; i < own; ++i) {
    const SkipRule& rule = grid.skips[grid.skips.size() - own + i];
    for (const Condition& condition : rule.conditions) {
      file_.at(*rules->get(i)->as_table()->get(condition.axis), [&] { check_condition(condition, options); });
    }
  }
}

void StudyReader::read_section(Grid& grid, const toml::table& table) const {
  Section section{grid, "", 0, false};
  for (size_t i = 0; i < grid.axes.size(); ++i) section.places.emplace(grid.axes[i].name, i);
  for (const auto& [key, node] : in_file_order(table)) {
    const auto setting = std::find_if(settings_.begin(), settings_.end(), [&, &name = key](const auto& s) { return s.first == name; });
    if (setting != settings_.end()) {
      setting->second(section, key, *node);
    } else if (is_point_field(key)) {
      read_axis(section, key, *node, true);
    } else if (key == "options" || key == "axis") {
      read_options(section, "", file_.table(key, *node), key == "axis");
    } else if (key == "skip") {
      read_skips(grid, *node);
    } else if (key == "tenant") {
      read_tenants(grid, *node);
    } else {
      std::vector<std::string> known = point_field_names();
      for (const auto& [name, setter] : settings_) known.push_back(name);
      known.insert(known.end(), {"options", "axis", "skip", "tenant"});
      unknown_key(*node, key, known, "options of backends, scenarios and datasets stand under [grid.options] or [grid.axis]");
    }
  }
  if (section.least > 0) set_min_duration(grid.stopping, section.least);
  if (!section.energy) return;
  grid.energy = true;
  lengthen_for_energy(grid.stopping);
}

Study StudyReader::read() {
  Study study;
  study.name = std::filesystem::path(path_).stem().string();
  Grid defaults;
  const toml::node* grids = nullptr;
  for (const auto& [key, node] : in_file_order(file_.root())) {
    if (key == "name") {
      study.name = file_.text(key, *node);
      if (trim(study.name).empty()) file_.fail(*node, "'name' is empty");
    } else if (key == "describe") {
      study.describe = file_.text(key, *node);
    } else if (key == "seed") {
      study.seed = static_cast<uint64_t>(file_.whole(key, *node, 0, INT64_MAX));
    } else if (key == "defaults") {
      read_section(defaults, file_.table(key, *node));
    } else if (key == "grid") {
      grids = node;
    } else {
      const std::vector<std::string> known{"name", "describe", "seed", "defaults", "grid"};
      const bool of_grid = is_point_field(key) ||
                           std::any_of(settings_.begin(), settings_.end(), [&, &name = key](const auto& s) { return s.first == name; });
      unknown_key(*node, key, known, of_grid ? "it belongs under [[grid]] or [defaults]" : "");
    }
  }
  if (grids == nullptr) throw Error(ErrorKind::usage, fmt::format("{}:1: nothing to measure: it has no [[grid]]", path_));
  const auto* list = grids->as_array();
  if (list == nullptr || list->empty()) file_.fail(*grids, "write [[grid]] with double brackets: there may be several");
  const size_t sizes_of_defaults = size_of(defaults);
  size_t size_of_all = 0;
  for (const toml::node& entry : *list) {
    const toml::table& table = file_.table("grid", entry);
    size_of_all += sizes_of_defaults;
    if (size_of_all > most_repeated)
      file_.fail(entry, fmt::format("more than {} options and skip rules of [defaults] over all grids", most_repeated));
    Grid& grid = study.grids.emplace_back(defaults);
    grid.place = file_.place(table);
    read_section(grid, table);
    check_skips(grid, table);
    if (!grid.own_repeats) grid.repeats = usual_repeats(grid);
  }
  return study;
}

}  // namespace

Study parse_study(const std::string& text, const std::string& path) { return StudyReader(text, path).read(); }

Study read_study(const std::string& path) { return parse_study(read_text(path, most_bytes), path); }

}  // namespace deepgap
