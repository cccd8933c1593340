// OptionTable: the options of an engine, of a scenario or of deepgap itself, a row each. A row says how its option is listed, which values
// it takes, where in the settings a value goes, and, by what settings begin with, its default.
//
// Built once; read by any thread from then on.
#pragma once

#include "base/option_values.h"
#include "base/text.h"

#include <deepgap/backend.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace deepgap {

// A Field is where a value goes: a member of Settings, or a function from settings, constant or not, to a reference.
template <typename Settings>
class OptionTable {
 public:
  // Puts a value that the option's kind allows into the settings. Returns false if the option does not take it.
  using Read = std::function<bool(Settings&, const std::string& value)>;
  using Write = std::function<std::string(const Settings&)>;
  template <typename Field>
  using Value = std::remove_cvref_t<std::invoke_result_t<Field, Settings&>>;
  template <typename T>
  using Choices = std::vector<std::pair<std::string, T>>;

  // Messages about values begin with `owner`, the name of an engine, if there is one.
  explicit OptionTable(std::string owner = "") : owner_(std::move(owner)) {}

  template <typename Field>
  OptionTable& choice(std::string name, std::string describe, Field field, const Choices<Value<Field>>& choices) {
    OptionInfo info{std::move(name), std::move(describe), "", false, OptionKind::choice};
    for (const auto& [word, value] : choices) info.words.push_back(word);
    const auto to_value = [choices](const std::string& given) {
      std::optional<Value<Field>> chosen;
      for (const auto& [word, value] : choices)
        if (word == given) chosen.emplace(value);
      return chosen;
    };
    return parsed(std::move(info), "", field, to_value, [choices](const Value<Field>& value) {
      const auto found = std::find_if(choices.begin(), choices.end(), [&](const auto& one) { return one.second == value; });
      return found == choices.end() ? std::string() : found->first;
    });
  }
  template <typename Field>
  OptionTable& word(std::string name, std::string describe, Field field, const std::vector<std::string>& words) {
    Choices<std::string> choices;
    for (const std::string& word : words) choices.emplace_back(word, word);
    return choice(std::move(name), std::move(describe), field, choices);
  }
  template <typename Field>
  OptionTable& on_off(std::string name, std::string describe, Field field) {
    return choice(std::move(name), std::move(describe), field, {{"off", false}, {"on", true}});
  }

  // Adds a whole number. A field that begins with another one, or with none, has no default to list.
  template <typename Field>
  OptionTable& count(std::string name, std::string describe, Field field, int64_t least, int64_t most = INT64_MAX) {
    OptionInfo info{std::move(name), std::move(describe), "", false, OptionKind::count, {}, least, most};
    return parsed(std::move(info), "", field, parse_int, [=](const Value<Field>& value) {
      const std::optional<int64_t> number(value);
      return number && *number >= least && *number <= most ? std::to_string(*number) : "";
    });
  }
  template <typename Field>
  OptionTable& number(std::string name, std::string describe, Field field, double least, double most) {
    const auto to_value = [=](const std::string& given) { return parse_number(given, least, most); };
    return parsed({std::move(name), std::move(describe), "", false, OptionKind::number}, number_range(least, most), field, to_value,
                  plain_number);
  }
  // Adds a share of 0 to 1, which may be written as a percentage.
  template <typename Field>
  OptionTable& fraction(std::string name, std::string describe, Field field) {
    return parsed({std::move(name), std::move(describe), ""}, "a share from 0 to 1, such as 0.1 or 10%", field, parse_share, plain_number);
  }
  // Adds a share that must be written as a percentage.
  template <typename Field>
  OptionTable& percentage(std::string name, std::string describe, Field field) {
    const auto to_value = [](const std::string& given) { return given.ends_with('%') ? parse_share(given) : std::nullopt; };
    return parsed({std::move(name), std::move(describe), ""}, "a percentage from 0% to 100%", field, to_value,
                  [](double share) { return plain_number(share * 100) + "%"; });
  }
  template <typename Field>
  OptionTable& duration(std::string name, std::string describe, Field field, Nanoseconds least, Nanoseconds most = never) {
    const auto to_value = [=](const std::string& given) { return parse_time(given, least, most); };
    return parsed({std::move(name), std::move(describe), "", false, OptionKind::duration},
                  time_range(least, most, std::invoke(field, Settings{})), field, to_value,
                  [=](Nanoseconds time) { return time < least ? "" : time_text(time); });
  }
  template <typename Field>
  OptionTable& text(std::string name, std::string describe, Field field) {
    const auto as_it_is = [](const std::string& given) { return std::optional(given); };
    return parsed({std::move(name), std::move(describe), ""}, "", field, as_it_is, [](const std::string& value) { return value; });
  }

  // Adds an option of another form. `range` says in a message what it takes besides its words. `to_value` makes a value of a text, or
  // nullopt; `to_text` makes the text of a value.
  template <typename Field, typename ToValue>
  OptionTable& parsed(OptionInfo info, std::string range, Field field, ToValue to_value) {
    return row(std::move(info), std::move(range), reader(field, to_value));
  }
  template <typename Field, typename ToValue, typename ToText>
  OptionTable& parsed(OptionInfo info, std::string range, Field field, ToValue to_value, ToText to_text) {
    return row(std::move(info), std::move(range), reader(field, to_value),
               [=](const Settings& settings) { return std::string(to_text(std::invoke(field, settings))); });
  }
  OptionTable& row(OptionInfo info, std::string range, Read read, Write write = {}) {
    if (info.default_value.empty() && write) info.default_value = write(Settings{});
    infos_.push_back(std::move(info));
    rows_.push_back({std::move(range), std::move(read), std::move(write)});
    return *this;
  }
  // Adds an option whose `read` throws Error{usage} for what it does not take.
  OptionTable& row(OptionInfo info, std::function<void(Settings&, const std::string& value)> read) {
    return row(std::move(info), "", [read = std::move(read)](Settings& settings, const std::string& given) {
      read(settings, given);
      return true;
    });
  }
  // Adds the rows of a part of the settings, with `prefix` before each name and `about` before each description.
  template <typename Part>
  OptionTable& part(Part Settings::*field, const OptionTable<Part>& table, const std::string& prefix = "", const std::string& about = "") {
    for (size_t i = 0; i < table.infos_.size(); ++i) {
      infos_.push_back(table.infos_[i]);
      infos_.back().name = prefix + infos_.back().name;
      infos_.back().describe = about + infos_.back().describe;
      const auto& of_part = table.rows_[i];
      const auto read = [field, read = of_part.read](Settings& settings, const std::string& given) { return read(settings.*field, given); };
      rows_.push_back({of_part.range, read, {}});
    }
    return *this;
  }

  // These change the last row. Points that differ in a process-wide option cannot share a process.
  OptionTable& process_wide() {
    infos_.back().process_wide = true;
    return *this;
  }
  // The word "auto" stands for what the settings begin with.
  OptionTable& or_auto() {
    infos_.back().words.push_back("auto");
    if (infos_.back().default_value.empty()) infos_.back().default_value = "auto";
    rows_.back().read = [read = rows_.back().read](Settings& settings, const std::string& given) {
      return given == "auto" || read(settings, given);
    };
    return *this;
  }
  OptionTable& by_default(std::string listed) {
    infos_.back().default_value = std::move(listed);
    return *this;
  }

  const std::vector<OptionInfo>& infos() const { return infos_; }
  const OptionInfo* find(const std::string& name) const { return find_option(infos_, name); }
  // Returns the first option of the table that is among `given`, or nullptr.
  const OptionInfo* first_in(const EngineOptions& given) const {
    const auto found = std::find_if(infos_.begin(), infos_.end(), [&](const OptionInfo& info) { return given.contains(info.name); });
    return found == infos_.end() ? nullptr : &*found;
  }

  // Sets one option; false: the table has none of that name. Throws Error{usage} for a value that it does not take, which stands at
  // `place`.
  bool set(Settings& settings, const std::string& name, const std::string& value, const std::string& place) const {
    const OptionInfo* info = find(name);
    if (info == nullptr) return false;
    const Row& row = rows_[static_cast<size_t>(info - infos_.data())];
    if (!is_taken(*info, value) || !row.read(settings, value)) refuse_value(owner_, *info, value, place, row.range);
    return true;
  }
  bool set(Settings& settings, const std::string& name, const std::string& value) const { return set(settings, name, value, name); }
  // Sets those of `given` that the table has, in its order.
  void set_known(Settings& settings, const EngineOptions& given) const {
    for (const OptionInfo& info : infos_)
      if (const auto found = given.find(info.name); found != given.end()) set(settings, info.name, found->second);
  }
  // Throws Error{usage} also for a name that the table does not have. `prefix` stands before names in messages about values.
  Settings parse(const EngineOptions& given, const std::string& prefix = "") const {
    Settings settings;
    for (const auto& [name, value] : given)
      if (find(name) == nullptr) refuse_name(owner_, infos_, name);
    for (const OptionInfo& info : infos_)
      if (const auto found = given.find(info.name); found != given.end()) set(settings, info.name, found->second, prefix + info.name);
    return settings;
  }

  // Returns the value of an option as parse() takes it; nullopt for one that the table does not have or cannot write.
  std::optional<std::string> value(const Settings& settings, const std::string& name) const {
    const OptionInfo* info = find(name);
    if (info == nullptr || !rows_[static_cast<size_t>(info - infos_.data())].write) return std::nullopt;
    return rows_[static_cast<size_t>(info - infos_.data())].write(settings);
  }
  // The value of each option that can be written.
  EngineOptions values(const Settings& settings) const {
    EngineOptions values;
    for (size_t i = 0; i < infos_.size(); ++i)
      if (rows_[i].write) values[infos_[i].name] = rows_[i].write(settings);
    return values;
  }

 private:
  template <typename>
  friend class OptionTable;

  struct Row {
    std::string range;
    Read read;
    Write write;
  };
  template <typename T>
  struct Plain {
    using type = T;
  };
  template <typename T>
  struct Plain<std::optional<T>> {
    using type = T;
  };

  template <typename Field, typename ToValue>
  static Read reader(Field field, ToValue to_value) {
    return [=](Settings& settings, const std::string& given) {
      const auto value = to_value(given);
      if (!value) return false;
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(*value)>, int64_t>) {
        std::invoke(field, settings) = static_cast<typename Plain<Value<Field>>::type>(*value);  // a count, which its limits keep in range
      } else {
        std::invoke(field, settings) = *value;
      }
      return true;
    };
  }

  std::string owner_;
  std::vector<OptionInfo> infos_;
  std::vector<Row> rows_;  // beside them
};

}  // namespace deepgap
