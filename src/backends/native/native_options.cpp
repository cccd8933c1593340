#include "backends/native/native_options.h"

#include "engine/cpu/isa.h"

#include <deepgap/error.h>

namespace deepgap {
namespace {

void add_generation(OptionTable<NativeOptions>& table) {
  OptionTable<SamplingSettings> sampling;
  sampling.number("temperature", "generation: 0: the likeliest token is taken (greedy); above: tokens are drawn",
                  &SamplingSettings::temperature, 0, 100);
  sampling.count("top_k", "generation: tokens are drawn from so many of the likeliest; 0: from all", &SamplingSettings::top_k, 0);
  sampling.number("top_p", "generation: tokens are drawn from the likeliest that together have this probability", &SamplingSettings::top_p,
                  0, 1);
  table.part(&NativeOptions::sampling, sampling);
  table.row({"sampling_seed", "generation: seed of the drawing; needs a temperature above 0", "1", false, OptionKind::count, {}, 0},
            [](NativeOptions& options, const std::string& value) {
              options.sampling.seed = std::stoull(value);
              options.sampling_seed_given = true;
            });
  table.choice("tokenizer", "generation: file: that of the GGUF file; words: each word is a token, with a made-up id",
               &NativeOptions::made_up_tokens, {{"file", false}, {"words", true}});
  table.on_off("ignore_end", "generation: whether answers go on after the end of text, so that they are as long as --output-tokens says",
               &NativeOptions::ignore_end);
  table.text("answers", "generation: file that gets the tokens and the text of the first 1000 answers, a JSON object a line",
             &NativeOptions::answers);
}

OptionTable<NativeOptions> make_table() {
  constexpr int64_t most_streams = 1024, most_samples = int64_t{1} << 30;
  OptionTable<NativeOptions> table("native");
  table.choice("path", "fast: oneDNN with fused operators; plain: the evaluator that makes the FP32 reference, one operator at a time",
               &NativeOptions::plain, {{"fast", false}, {"plain", true}});
  table
      .word(
          "isa",
          "the instructions that may be used: avx2, avx512, avx512_vnni, avx512_bf16, amx (each with those before it); auto: all that the "
          "CPU has",
          &NativeOptions::isa, isa_names())
      .process_wide();
  table.on_off("pin", "on: each thread stays on one of the allowed CPUs, where there are enough of them; off: the system places them",
               &NativeOptions::pin);
  table.count("streams", "queries computed at a time, each on its share of the threads", &NativeOptions::streams, 1, most_streams)
      .or_auto();
  table
      .count("part", "samples of a batch that go through all layers together; auto: as many as the caches hold", &NativeOptions::part, 1,
             most_samples)
      .or_auto();
  table.choice("share",
               "layers: all threads work on each layer; samples: each thread takes samples of the batch through all layers; auto: "
               "samples without AVX-512, from two for each thread",
               &NativeOptions::sharing, {{"auto", Sharing::automatic}, {"layers", Sharing::layers}, {"samples", Sharing::samples}});
  table.choice("tune", "on cuda: how kernels are chosen at load: off: by rule; quick: a few of each are measured; full: all are",
               &NativeOptions::tuning, {{"off", gpu::Tuning::off}, {"quick", gpu::Tuning::quick}, {"full", gpu::Tuning::full}});
  table.on_off(
      "libraries",
      "on cuda: on: tune measures what NVIDIA's libraries (cuBLASLt, cuDNN) do, too, where they are found; off: our own kernels alone",
      &NativeOptions::libraries);
  table.on_off("cuda_graph", "on cuda: on: the work of each batch size is recorded once and replayed; off: kernels are launched one by one",
               &NativeOptions::cuda_graph);
  table.choice(
      "overlap",
      "on cuda, batches of several streams: on: computed beside each other; off: in turns; auto: in turns unless it is 5 % slower at load",
      &NativeOptions::overlap, {{"auto", Overlap::automatic}, {"on", Overlap::always}, {"off", Overlap::never}});
  table.choice("attention",
               "on cuda: which kernel: wgmma: that of sm_90 for heads of 64 and 128, elsewhere as mma; mma: the one for every chip",
               &NativeOptions::hopper_attention, {{"mma", false}, {"wgmma", true}});
  add_generation(table);
  return table;
}

}  // namespace

void require_sampling(const NativeOptions& options) {
  if (!options.sampling.greedy()) return;
  if (options.sampling_seed_given || options.sampling.top_k > 0 || options.sampling.top_p < 1)
    throw Error(ErrorKind::usage,
                "native: sampling_seed, top_k and top_p do nothing at temperature 0, which takes the likeliest token: give a "
                "temperature above 0, or leave them out");
}

const OptionTable<NativeOptions>& native_options() {
  static const OptionTable<NativeOptions> table = make_table();
  return table;
}

}  // namespace deepgap
