// Ends sums that a library made: what the families' kernels do to sums in registers, to sums in memory. A thread has a run of neighbours.
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/library_epilogue.h"

namespace deepgap::gpu {
namespace {

constexpr unsigned threads = 256;

// `sums` and `target` may be the same memory: each thread reads what it writes over.
constexpr std::string_view kernel_body = R"(
  wait_for_previous();
  let_next_begin();
  const long long index = ((long long)blockIdx.x * 256 + threadIdx.x) * run;
  if (index >= pixels * out_pitch) return;
  const int channel = (int)(index % out_pitch);
  unsigned sums[run], words[(run * Residual::bytes + 3) / 4] = {0};
  load_words<run>(source + index * 4, sums);
  if (has_residual) get_residual<run>(residual + index * Residual::bytes, words);
  float values[run];
#pragma unroll
  for (int i = 0; i < run; i++) {
    const bool there = channel + i < out_channels;
    const float scale = has_scale && there ? scale_bias[channel + i] : 1.0f, bias = there ? scale_bias[out_pitch + channel + i] : 0.0f;
    const float value = ended(sum_of(sums[i]), scale, bias, residual_of(words, i));
    values[i] = there ? value : 0.0f;
  }
  put_target<run>(target + index * Target::bytes, values);
}
)";

// Neighbours that a thread ends: 16 bytes of the target where rows are multiples of them.
int run_of_target(const Convolution& problem) {
  int run = static_cast<int>(16 / byte_size(problem.epilogue.target));
  while (problem.out_pitch % run != 0) run /= 2;
  return run;
}

std::string text_of(const Convolution& problem) {
  std::string text(kernel_prelude());
  text += epilogue_text(problem) + shape_text(problem) + constant_text("run", run_of_target(problem));
  text += problem.compute == ComputeType::i8 ? "__device__ __forceinline__ int sum_of(unsigned bits) { return (int)bits; }\n"
                                             : "__device__ __forceinline__ float sum_of(unsigned bits) { return __uint_as_float(bits); }\n";
  return text + head_text(problem, "end_sums", threads) + std::string(kernel_body);
}

}  // namespace

Launch end_sums_launch(const Convolution& problem, const Chip& chip, int sums) {
  Launch launch;
  launch.entry = "end_sums";
  launch.source = text_of(problem);
  const int64_t runs = pixels_of(problem) * problem.out_pitch / run_of_target(problem);
  launch.grid = {static_cast<unsigned>((runs + threads - 1) / threads), 1, 1};
  launch.block = {threads, 1, 1};
  launch.overlaps_previous = can_overlap(chip);
  launch.arguments = arguments_of(problem);
  launch.arguments[0] = BufferArgument{sums};
  return launch;
}

}  // namespace deepgap::gpu
