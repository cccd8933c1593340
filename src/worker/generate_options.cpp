#include "worker/generate_options.h"

namespace deepgap {
namespace {

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

const OptionTable<GenerateOptions>& generate_options() {
  static const OptionTable<GenerateOptions> table = make_table();
  return table;
}

}  // namespace deepgap
