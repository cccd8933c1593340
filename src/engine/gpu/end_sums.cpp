// Ends sums that a library made: what the families' kernels do to sums in registers, to sums in memory. A thread has a run of neighbours.
#include "base/rounding.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/library_epilogue.h"

namespace deepgap::gpu {
namespace {

constexpr unsigned threads = 256;

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
  return text + head_text(problem, "end_sums", threads) + kernel_file("end_sums");
}

}  // namespace

Launch end_sums_launch(const Convolution& problem, const Chip& chip, int sums) {
  Launch launch;
  launch.entry = "end_sums";
  launch.source = text_of(problem);
  const int64_t runs = pixels_of(problem) * problem.out_pitch / run_of_target(problem);
  launch.grid = {static_cast<unsigned>(divide_up(runs, threads)), 1, 1};
  launch.block = {threads, 1, 1};
  launch.overlaps_previous = can_overlap(chip);
  launch.arguments = arguments_of(problem);
  launch.arguments[0] = BufferArgument{sums};
  return launch;
}

}  // namespace deepgap::gpu
