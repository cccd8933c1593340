// The text with which every hand-written kernel begins: device functions for conversions, memory and tensor cores (PTX, as nothing can be
// included), and an Epilogue as functions. Weights are rounded here, too, on their way to the device.
#pragma once

#include "engine/gpu/convolution.h"
#include "engine/gpu/kernel_file.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap::gpu {

// Types by Element, with `bytes`, get(word, index) and put<N>(words, values): F32, F16, BF16, I8, U8, E4M3. Memory: load_words<N>,
// store_words<N>, cp_async16, commit_copies, wait_for_copies<N>, load_matrices (ldmatrix.x4), shared_address, cluster functions. Products:
// mma_f16, mma_bf16, mma_tf32, mma_s8, mma_u8, mma_e4m3. Order of launches: wait_for_previous (before what others wrote is read),
// let_next_begin. Read its text for more.
const std::string& kernel_prelude();

// After the prelude:
//   typedef ... Sum;                        int or float
//   typedef ... Source, Target, Residual;   the prelude's types
//   float ended(Sum, float scale, float bias, float residual)   the steps; what put_target takes
//   float ended_value(float sum, ...)                           the same, of a sum that is a float already
//   float end_value(float sum, float scale, float bias, ...)    the same, of scale and bias that were through table_scale and table_bias
//   void put_target<N>(void* to, const float (&values)[N])      rounds and stores N neighbours (N * bytes: 1, 2, 4, 8, or multiples of 16)
//   void get_residual<N>(const void* from, unsigned (&words)[N * bytes / 4])   and   float residual_of(const unsigned* words, int index)
//   float residual_from(float stored)                            what residual_of gives where this number is stored
//   float stored_number(float value)                             what put_target stores for it, as a number
//   has_residual, has_scale                                      bool constants
std::string epilogue_text(const Convolution& problem);

// Returns the head of a kernel as macros, for a text in kernels/ that begins with "KERNEL() { DECLARE_RESIDUAL;": without a residual
// `residual` is a null pointer. `head`: launch bounds and entry.
std::string kernel_macros(std::string_view head, std::string_view parameters, bool residual);
// Returns the same for entry(source, weights, scale_bias, target[, residual]), all but the floats as bytes. What other launches write is
// not __restrict__: such loads could be moved before wait_for_previous.
std::string head_text(const Convolution& problem, std::string_view entry, unsigned threads);
// Returns the arguments of such a kernel.
std::vector<Argument> arguments_of(const Convolution& problem);

// Returns the type's name in a kernel's text, such as "F16".
std::string_view type_text(Element element);
// Returns "static const int NAME = VALUE;\n".
std::string constant_text(std::string_view name, int64_t value);
// Returns every number of a problem's shape by its name, `pixels` (of the target), group_in and group_out (channels) as constants.
std::string shape_text(const Convolution& problem);
// Returns the same number, as a literal of CUDA C++.
std::string literal(float value);

// Returns the nearest number that the products can hold, ties to even; TF32: ties away from zero, as the device's conversion.
float rounded(ComputeType compute, float value);
// Returns the bytes of one element of the products' operands: as the source is stored.
size_t operand_bytes(ComputeType compute);
// Sets element `position` of packed weights, as the products read it (i8: a byte).
void put_operand(std::vector<std::byte>& packed, size_t position, ComputeType compute, float value);

// One weight by its coordinates in ONNX's order, whatever the tensor's type.
class WeightReader {
 public:
  explicit WeightReader(const Convolution& problem, const Tensor& weights);
  // `in` counts within the group.
  float at(int64_t out, int64_t in, int64_t y, int64_t x) const;

 private:
  const Convolution& problem_;
  const Tensor& weights_;
  int64_t group_channels_;
};

// Returns whether a launch may begin before the one before it has ended.
bool can_overlap(const Chip& chip);
// Returns the number of products that one sum has.
int64_t products_per_sum(const Convolution& problem);
// Returns whether any output reads beyond the image.
bool reads_outside(const Convolution& problem);

}  // namespace deepgap::gpu
