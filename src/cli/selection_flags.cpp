#include "cli/selection_flags.h"

#include "analysis/cost/prices.h"
#include "base/messages.h"
#include "base/text.h"
#include "cli/axis_values.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <tuple>

namespace deepgap {
namespace {

constexpr const char *since_key = "since", *until_key = "until", *select_key = "select";

// A flag that selects. Letters are those of `run`. Values of an axis are spelled as there: "1..32*2", "ResNet-50".
struct SelectionFlag {
  const char* flags;
  const char* key;
  bool is_axis;
  const char* describe;
};
constexpr SelectionFlag selection_flags[] = {
    {"-m,--model", "model", true, "Select models"},
    {"-e,--backend", "backend", true, "Select engines"},
    {"-d,--device", "device", true, "Select devices: cpu, cuda:0"},
    {"-p,--precision", "precision", true, "Select precisions"},
    {"-b,--batch", "batch", true, "Select batches: 1,8 or 1..32*2"},
    {"-s,--scenario", "scenario", true, "Select scenarios"},
    {"-t,--threads", "threads", true, "Select numbers of threads"},
    {"--task", "task", true, "Select tasks: infer, train or generate"},
    {"--study", "study", false, "Select studies"},
    {"--tag", "tag", false, "Select records with one of these tags (deepgap tag)"},
    {"--outcome", "outcome", false, "Select outcomes: ok, refused, crashed ..."},
    {"--verdict", "verdict", false, "Select verdicts: valid, unstable ..."},
};

template <typename FromName>
void check_names(const char* flag, const std::vector<std::string>& names, const FromName& from_name, auto last) {
  std::vector<std::string> known;
  for (int i = 0; i <= static_cast<int>(last); ++i) known.emplace_back(name_of(static_cast<decltype(last)>(i)));
  for (const std::string& name : names) {
    if (!from_name(name)) throw Error(ErrorKind::usage, invalid_choice(name, flag, known));
  }
}

bool is_digits(const std::string& text, size_t length) {
  return text.size() == length && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

int64_t time_flag(const std::string& flag, const std::string& text, bool end) {
  using namespace std::chrono;
  const auto fail = [&] {
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{1}' for {0}: expected a time such as 2026-11-23 or 2026-11-23T14:05 (UTC)", flag, text));
  };
  std::string given = text;
  if (given.ends_with('Z')) given.pop_back();
  const auto days = given.size() < 10 ? std::nullopt : days_of(given.substr(0, 10));
  if (!days || days->first < sys_days(year(1970) / 1 / 1) || days->first >= sys_days(year(2201) / 1 / 1))
    fail();  // outside of what 64-bit nanoseconds can represent
  seconds at = days->first.time_since_epoch(), length = hours(24);
  if (given.size() > 10) {
    const std::vector<std::string> clock = split(given.substr(11), ':');
    constexpr std::array<int, 3> limits{24, 60, 60}, units{3600, 60, 1};
    if ((given[10] != 'T' && given[10] != ' ') || clock.size() < 2 || clock.size() > 3) fail();
    for (size_t i = 0; i < clock.size(); ++i) {
      if (!is_digits(clock[i], 2) || std::stoi(clock[i]) >= limits[i]) fail();
      at += seconds(std::stoi(clock[i]) * units[i]);
    }
    length = seconds(clock.size() == 2 ? 60 : 1);
  }
  return nanoseconds(end ? at + length : at).count();
}

CLI::Option* SelectionFlags::add(CLI::App& app, const std::string& flags, const std::string& key, const char* describe, const char* type) {
  constexpr const char* group = "Select records (all given flags must match; of a list, any value)";
  if (CLI::Option* own = app.get_option_no_throw("--" + key)) return options_[key] = own;
  return options_[key] = app.add_option(flags, texts_[key], describe)->group(group)->type_name(type)->take_all()->allow_extra_args(false);
}

void SelectionFlags::declare(CLI::App& app) {
  for (const SelectionFlag& flag : selection_flags) add(app, flag.flags, flag.key, flag.describe, "LIST");
  for (const auto& [key, describe, type] :
       {std::tuple(since_key, "Select records begun at this time or later: 2026-11-23, 2026-11-23T14:05 (UTC)", "TIME"),
        std::tuple(until_key, "Select records begun at this time or earlier; a day counts to its end", "TIME"),
        std::tuple(select_key, "Select by any column of the export or option: \"check_pass=true;native.path=fast|plain\"", "SELECTION")})
    add(app, std::string("--") + key, key, describe, type);
}

std::string SelectionFlags::given() const {
  for (const auto& [key, texts] : texts_) {
    if (!texts.empty()) return "--" + key;
  }
  return {};
}

Selection SelectionFlags::selection() const {
  const auto texts = [&](const char* key) { return options_.at(key)->results(); };
  Selection selection(join(texts(select_key), ";"));
  for (const SelectionFlag& flag : selection_flags) {
    const std::vector<std::string> given = texts(flag.key);
    if (given.empty()) continue;
    const std::string text = join(given, ","), name = std::string("--") + flag.key;
    std::vector<std::string> values = flag.is_axis ? axis_values(flag.key, text, name) : split(text, ',');
    if (std::any_of(values.begin(), values.end(), [](const std::string& value) { return value.empty(); }))
      throw Error(ErrorKind::usage, fmt::format("invalid value '{1}' for {0}: expected a list of values, such as a,b", name, text));
    if (name == "--outcome") check_names("--outcome", values, outcome_from, Outcome::interrupted);
    if (name == "--verdict") check_names("--verdict", values, verdict_from, Verdict::invalid);
    selection.require(flag.key, std::move(values));
  }
  for (const std::string& time : texts(since_key)) selection.since(time_flag("--since", time, false), time);
  for (const std::string& time : texts(until_key)) selection.before(time_flag("--until", time, true), time);
  return selection;
}

}  // namespace deepgap
