#include "backends/generate/generation_settings.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

OptionTable<GenerationSettings> make_table() {
  OptionTable<SamplingSettings> sampling;
  sampling.number("temperature", "generation: 0: the likeliest token is taken (greedy); above: tokens are drawn",
                  &SamplingSettings::temperature, 0, 100);
  sampling.count("top_k", "generation: tokens are drawn from so many of the likeliest; 0: from all", &SamplingSettings::top_k, 0);
  sampling.number("top_p", "generation: tokens are drawn from the likeliest that together have this probability", &SamplingSettings::top_p,
                  0, 1);
  OptionTable<GenerationSettings> table;
  table.part(&GenerationSettings::sampling, sampling);
  table.row({"sampling_seed", "generation: seed of the drawing; needs a temperature above 0", "1", false, OptionKind::count, {}, 0},
            [](GenerationSettings& settings, const std::string& value) {
              settings.sampling.seed = std::stoull(value);
              settings.sampling_seed_given = true;
            });
  table.choice("tokenizer",
               "generation: file: that of the GGUF file, or tokenizer.json beside an ONNX file; words: each word is a token, with a "
               "made-up id",
               &GenerationSettings::made_up_tokens, {{"file", false}, {"words", true}});
  table.on_off("ignore_end", "generation: whether answers go on after the end of text, so that they are as long as --output-tokens says",
               &GenerationSettings::ignore_end);
  table.text("answers", "generation: file that gets the tokens and the text of the first 1000 answers, a JSON object a line",
             &GenerationSettings::answers);
  return table;
}

}  // namespace

const OptionTable<GenerationSettings>& generation_options() {
  static const OptionTable<GenerationSettings> table = make_table();
  return table;
}

void require_generation(const std::string& engine, const GenerationSettings& settings, Task task) {
  if (task != Task::generate && !settings.answers.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: option answers is for --task generate, which this is not", engine));
  if (!settings.sampling.greedy()) return;
  if (settings.sampling_seed_given || settings.sampling.top_k > 0 || settings.sampling.top_p < 1)
    throw Error(ErrorKind::usage,
                fmt::format("{}: sampling_seed, top_k and top_p do nothing at temperature 0, which takes the likeliest token: give a "
                            "temperature above 0, or leave them out",
                            engine));
}

}  // namespace deepgap
