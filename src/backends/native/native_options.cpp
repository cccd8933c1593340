#include "backends/native/native_options.h"

#include "engine/cpu/isa.h"

namespace deepgap {
namespace {

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
  table.part(&NativeOptions::generation, generation_options());
  return table;
}

}  // namespace

const OptionTable<NativeOptions>& native_options() {
  static const OptionTable<NativeOptions> table = make_table();
  return table;
}

}  // namespace deepgap
