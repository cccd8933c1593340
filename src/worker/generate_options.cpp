#include "worker/generate_options.h"

#include "base/messages.h"
#include "base/text.h"
#include "record/point_option.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr const char* none = "none";

int64_t whole(const std::string& name, const std::string& value) {
  const auto number = parse_int(value);
  if (!number || *number < 0 || *number > Lengths::most)
    throw Error(ErrorKind::usage, invalid_value(value, name, fmt::format("a number of tokens from 0 to {}", Lengths::most)));
  return *number;
}

bool on_or_off(const std::string& name, const std::string& value) {
  if (value != "on" && value != "off") throw Error(ErrorKind::usage, invalid_value(value, name, "on or off"));
  return value == "on";
}

}  // namespace

bool generates(const Point& point) { return point.task == "generate"; }

std::vector<OptionInfo> generate_option_infos() {
  return {
      {"prompt_tokens", "generation: length of made-up prompts: 512, uniform:LOW:HIGH, lognormal:MEDIAN:SIGMA, or file:PATH", "512"},
      {"output_tokens", "generation: length of answers at most, likewise", "as a file of prompts says; else 128"},
      {"shared_prefix_tokens", "generation: tokens that all made-up prompts begin with, of prompt_tokens", "0"},
      {"prompt_reuse", "generation: on sends the same prompts again, to measure a prefix cache; off makes each query's unique", "off"},
  };
}

bool set_generate_option(GenerateOptions& options, const std::string& name, const std::string& value) {
  if (name == "prompt_tokens") {
    options.prompt_tokens = Lengths(name, value);
  } else if (name == "output_tokens") {
    options.output_tokens = Lengths(name, value);
  } else if (name == "shared_prefix_tokens") {
    options.shared_prefix = whole(name, value);
  } else if (name == "prompt_reuse") {
    options.reuse = on_or_off(name, value);
  } else {
    return false;
  }
  return true;
}

void require_generate_options(const Point& point) {
  if (!generates(point)) {
    for (const OptionInfo& option : generate_option_infos())
      if (point.options.contains(option.name))
        throw Error(ErrorKind::usage, fmt::format("{} applies to generation: add --task generate, or leave it out", option.name));
    return;
  }
  if (point.batch > 1)
    throw Error(ErrorKind::usage, "a query of task generate is one prompt: leave out --batch; scenario concurrency has many in flight");
  for (const char* option : {"mlperf", "max_batch", "end_to_end", "labels", "input"})
    if (!option_of(point, option).empty() && option_of(point, option) != "off" && option_of(point, option) != none)
      throw Error(ErrorKind::usage, fmt::format("{} does not apply to task generate: leave it out", option));
}

}  // namespace deepgap
