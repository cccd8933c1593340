#include "worker/generate_options.h"

#include "record/point_option.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr const char* none = "none";

OptionTable<GenerateOptions> make_table() {
  using Options = GenerateOptions;
  const auto lengths = [](const std::string& name, auto field) {
    return [=](Options& options, const std::string& value) { options.*field = Lengths(name, value); };
  };
  OptionTable<Options> table;
  table.row({"prompt_tokens", "generation: length of made-up prompts: 512, uniform:LOW:HIGH, lognormal:MEDIAN:SIGMA, or file:PATH", "512"},
            lengths("prompt_tokens", &Options::prompt_tokens));
  table.row({"output_tokens", "generation: length of answers at most, likewise", "as a file of prompts says; else 128"},
            lengths("output_tokens", &Options::output_tokens));
  table.count("shared_prefix_tokens", "generation: tokens that all made-up prompts begin with, of prompt_tokens", &Options::shared_prefix,
              0, Lengths::most);
  table.on_off("prompt_reuse", "generation: on sends the same prompts again, to measure a prefix cache; off makes each query's unique",
               &Options::reuse);
  return table;
}

}  // namespace

bool generates(const Point& point) { return point.task == "generate"; }

const OptionTable<GenerateOptions>& generate_options() {
  static const OptionTable<GenerateOptions> table = make_table();
  return table;
}

void require_generate_options(const Point& point) {
  if (!generates(point)) {
    if (const OptionInfo* option = generate_options().first_in(point.options))
      throw Error(ErrorKind::usage, fmt::format("{} applies to generation: add --task generate, or leave it out", option->name));
    return;
  }
  if (point.batch > 1)
    throw Error(ErrorKind::usage, "a query of task generate is one prompt: leave out --batch; scenario concurrency has many in flight");
  for (const char* option : {"mlperf", "max_batch", "end_to_end", "labels", "input"})
    if (!option_of(point, option).empty() && option_of(point, option) != "off" && option_of(point, option) != none)
      throw Error(ErrorKind::usage, fmt::format("{} does not apply to task generate: leave it out", option));
}

}  // namespace deepgap
