// OptionTable: a plug-in's options, a row each: how it is listed, what values it takes, and where in its settings a value goes. What is
// listed, allowed and read is said once.
//
// Built once, with the plug-in's rows; read by any thread from then on.
#pragma once

#include "base/option_values.h"

#include <deepgap/backend.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

template <typename Settings>
class OptionTable {
 public:
  using Read = std::function<void(Settings&, const std::string& value)>;
  template <typename T>
  using Choices = std::vector<std::pair<std::string, T>>;

  explicit OptionTable(std::string engine) : engine_(std::move(engine)) {}

  // The default is the choice that Settings begin with.
  template <typename T>
  OptionTable& choice(const std::string& name, const std::string& describe, T Settings::*field, const Choices<T>& choices,
                      bool process_wide = false) {
    OptionInfo info{name, describe, "", process_wide, OptionKind::choice};
    for (const auto& [word, value] : choices) {
      info.words.push_back(word);
      if (info.default_value.empty() && value == Settings{}.*field) info.default_value = word;
    }
    return row(std::move(info), [field, choices](Settings& settings, const std::string& given) {
      settings.*field = std::find_if(choices.begin(), choices.end(), [&](const auto& one) { return one.first == given; })->second;
    });
  }
  OptionTable& on_off(const std::string& name, const std::string& describe, bool Settings::*field, bool process_wide = false) {
    return choice<bool>(name, describe, field, {{"off", false}, {"on", true}}, process_wide);
  }

  // Adds a number from 1 to `most`. `automatic`: the word "auto" stands for what Settings begin with, which may be 0.
  template <typename Count>
  OptionTable& count(const std::string& name, const std::string& describe, Count Settings::*field, int64_t most, bool automatic = false) {
    const Count fallback = Settings{}.*field;
    OptionInfo info{name, describe, fallback == 0 ? "auto" : std::to_string(fallback), false, OptionKind::count, {}, 1, most};
    if (automatic) info.words = {"auto"};
    return row(std::move(info), [field, fallback](Settings& settings, const std::string& given) {
      settings.*field = given == "auto" ? fallback : static_cast<Count>(std::strtoll(given.c_str(), nullptr, 10));
    });
  }

  // `read` throws Error{usage} for values that the option's kind allows but the option does not.
  OptionTable& row(OptionInfo info, Read read) {
    infos_.push_back(std::move(info));
    reads_.push_back(std::move(read));
    return *this;
  }

  const std::vector<OptionInfo>& infos() const { return infos_; }

  // Throws Error{usage} naming the engine, the option and what it takes.
  Settings parse(const EngineOptions& given) const {
    check_options(engine_, infos_, given);
    Settings settings;
    for (size_t i = 0; i < infos_.size(); ++i)
      if (const auto found = given.find(infos_[i].name); found != given.end()) reads_[i](settings, found->second);
    return settings;
  }

 private:
  std::string engine_;
  std::vector<OptionInfo> infos_;
  std::vector<Read> reads_;  // beside them
};

}  // namespace deepgap
