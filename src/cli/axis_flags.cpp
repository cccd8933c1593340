#include "cli/axis_flags.h"

#include "base/option_values.h"
#include "base/text.h"
#include "cli/axis_values.h"
#include "cli/run_axes.h"
#include "cli/shape_flag.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

// "--batch" of "-b,--batch,--batch-size".
std::string flag_name(const AxisFlag& flag) {
  const std::string flags = flag.flags;
  const size_t begin = flags.find("--");
  return flags.substr(begin, flags.find(',', begin) - begin);
}

std::string axis_name(const AxisFlag& flag) { return axis_of_flag(flag_name(flag)); }

// Parses `text`, which the flag `place` gives, as the values of an axis.
Axis axis_of(const std::string& place, const std::string& name, const std::string& text) {
  Axis axis{name, axis_values(name, text, place)};
  axis.places.assign(axis.values.size(), place);
  return axis;
}

}  // namespace

void AxisFlags::declare(CLI::App& app, const std::string& group, std::span<const AxisFlag> table) {
  table_ = table;
  const auto add = [&](const char* flags, std::vector<std::string>& texts, const std::string& describe, const char* type) {
    app.add_option(flags, texts, describe)->group(group)->type_name(type)->take_all()->allow_extra_args(false);
  };
  for (const AxisFlag& flag : table_) {
    const std::string axis = axis_name(flag);
    add(flag.flags, texts_[axis], *flag.describe == 0 ? described(*axis_info(axis)) : flag.describe, "LIST");
  }
  add("-a,--axis", more_axes_, "Set any option as an axis: NAME=LIST", "NAME=LIST");
  add("--shape", shapes_, "Set sizes of an input: input:1x3x320x320 (N stands for the batch)", "INPUT:DIMS");
  add("--input", inputs_, input_flag_describe, "NAME=NUMBERS");
}

std::vector<Axis> AxisFlags::axes() const {
  std::vector<Axis> axes;
  for (const AxisFlag& flag : table_) {
    const std::string axis = axis_name(flag);
    if (texts_.at(axis).empty()) continue;  // an empty text that was given is an error
    axes.push_back(axis_of(flag_name(flag), axis, text(axis)));
  }
  for (const std::string& given : more_axes_) {
    const size_t equals = given.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --axis: expected NAME=LIST, such as streams=1,2", given));
    const std::string name = given.substr(0, equals);
    axes.push_back(axis_of("--axis " + name, name, given.substr(equals + 1)));
  }
  if (!words_.empty()) add_words(axes);
  if (!shapes_.empty()) axes.push_back({"shape", {joined_shapes(shapes_)}, {"--shape"}});
  if (!inputs_.empty()) axes.push_back({"input", {joined_input_numbers(inputs_)}, {"--input"}});
  return axes;
}

void AxisFlags::add_words(std::vector<Axis>& axes) const {
  std::vector<std::string> values;
  for (const std::string& word : words_) {
    for (std::string& value : axis_values("model", word, "'" + word + "'")) values.push_back(std::move(value));
  }
  const auto named = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.name == "model"; });
  if (named == axes.end()) {
    axes.insert(axes.begin(), Axis{"model", values, std::vector<std::string>(values.size())});
    return;
  }
  for (std::string& value : values) {
    if (std::find(named->values.begin(), named->values.end(), value) == named->values.end()) named->values.push_back(std::move(value));
  }
  named->places.resize(named->values.size());
}

std::string AxisFlags::text(const std::string& axis) const { return join(texts_.at(axis), ","); }

}  // namespace deepgap
