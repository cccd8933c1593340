#include "cli/axis_flags.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

void AxisFlags::declare(CLI::App& app, const std::string& group, std::span<const AxisFlag> table) {
  table_ = table;
  const auto add = [&](const char* flags, std::vector<std::string>& texts, const char* describe, const char* type) {
    app.add_option(flags, texts, describe)->group(group)->type_name(type)->take_all()->allow_extra_args(false);
  };
  for (const AxisFlag& flag : table_) add(flag.flags, texts_[flag.axis], flag.describe, "LIST");
  add("-a,--axis", more_axes_, "Any option as an axis: name=list", "NAME=LIST");
  add("--shape", shapes_, "Sizes of an input: input:1x3x320x320 (N: the batch)", "INPUT:DIMS");
}

std::vector<Axis> AxisFlags::axes() const {
  std::vector<Axis> axes;
  for (const AxisFlag& flag : table_) {
    if (texts_.at(flag.axis).empty()) continue;  // an empty text that was given is an error
    axes.push_back({flag.axis, parse_axis_values(text(flag.axis), fmt::format("--{}", flag.axis))});
  }
  for (const std::string& given : more_axes_) {
    const size_t equals = given.find('=');
    if (equals == std::string::npos || equals == 0) throw Error(ErrorKind::usage, fmt::format("--axis '{}' is not name=list", given));
    axes.push_back({given.substr(0, equals), parse_axis_values(given.substr(equals + 1), "--axis " + given.substr(0, equals))});
  }
  if (!shapes_.empty()) {
    std::string shapes = join(shapes_, "/");
    std::replace(shapes.begin(), shapes.end(), ',', 'x');
    axes.push_back({"shape", {shapes}});
  }
  return axes;
}

std::string AxisFlags::text(const std::string& axis) const { return join(texts_.at(axis), ","); }

}  // namespace deepgap
