// From one operation to steps: a function per operator in lower_*.cpp, found by the ONNX name. Each returns false where the node asks for
// what it does not do (then nothing was added).
#pragma once

#include "engine/gpu/lowering.h"

#include <string_view>

namespace deepgap::gpu {

using LowerFunction = bool (*)(Lowering&, const Operation&);

bool lower_convolution(Lowering& lowering, const Operation& operation);     // Conv, ranks 3 and 4
bool lower_direct_windows(Lowering& lowering, const Operation& operation);  // Conv of other ranks, ConvTranspose
bool lower_product(Lowering& lowering, const Operation& operation);         // Gemm, MatMul
bool lower_pool(Lowering& lowering, const Operation& operation);            // MaxPool, AveragePool, LpPool and the global ones
bool lower_pointwise(Lowering& lowering, const Operation& operation);       // one result from elements in the same place
bool lower_quantize(Lowering& lowering, const Operation& operation);        // QuantizeLinear, DequantizeLinear
bool lower_view(Lowering& lowering, const Operation& operation);            // Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout
bool lower_transpose(Lowering& lowering, const Operation& operation);
bool lower_concat(Lowering& lowering, const Operation& operation);
bool lower_split(Lowering& lowering, const Operation& operation);
bool lower_slice(Lowering& lowering, const Operation& operation);
bool lower_expand(Lowering& lowering, const Operation& operation);  // Expand, Tile
bool lower_pad(Lowering& lowering, const Operation& operation);
bool lower_gather(Lowering& lowering, const Operation& operation);      // Gather, GatherElements
bool lower_depth(Lowering& lowering, const Operation& operation);       // DepthToSpace, SpaceToDepth
bool lower_resize(Lowering& lowering, const Operation& operation);      // Resize, Upsample
bool lower_reduce(Lowering& lowering, const Operation& operation);      // Reduce*, ArgMax, ArgMin
bool lower_softmax(Lowering& lowering, const Operation& operation);     // Softmax, LogSoftmax
bool lower_layer_norm(Lowering& lowering, const Operation& operation);  // dense rows; false: lower_normalize does it
bool lower_normalize(Lowering& lowering, const Operation& operation);   // LayerNormalization, InstanceNormalization

bool lower_attention(Lowering& lowering, const Operation& operation);  // deepgap.Attention

bool lower_recurrent(Lowering& lowering, const Operation& operation);  // LSTM, GRU, RNN
bool lower_grid_sample(Lowering& lowering, const Operation& operation);
bool lower_dynamic_quantize(Lowering& lowering, const Operation& operation);
bool lower_integer_product(Lowering& lowering, const Operation& operation);  // MatMulInteger, ConvInteger
// A region is what surrounds a NonMaxSuppression and is as large as the data asks for (join_sized_by_data), with results of known sizes.
bool is_region(const Node& node);
bool lower_region(Lowering& lowering, const Operation& operation);
bool lower_rotary_embedding(Lowering& lowering, const Operation& operation);
bool lower_roi_align(Lowering& lowering, const Operation& operation);
bool lower_deform_conv(Lowering& lowering, const Operation& operation);
bool lower_einsum(Lowering& lowering, const Operation& operation);
bool lower_plain_matmul(Lowering& lowering, const Operation& operation);  // products of vectors, integers or doubles
bool lower_trilu(Lowering& lowering, const Operation& operation);
bool lower_eye_like(Lowering& lowering, const Operation& operation);
bool lower_constant_of_shape(Lowering& lowering, const Operation& operation);
bool lower_range(Lowering& lowering, const Operation& operation);
bool lower_one_hot(Lowering& lowering, const Operation& operation);
bool lower_gather_nd(Lowering& lowering, const Operation& operation);
bool lower_cum_sum(Lowering& lowering, const Operation& operation);  // CumSum, CumProd
bool lower_reverse_sequence(Lowering& lowering, const Operation& operation);
bool lower_top_k(Lowering& lowering, const Operation& operation);
bool lower_hardmax(Lowering& lowering, const Operation& operation);
bool lower_lrn(Lowering& lowering, const Operation& operation);
bool lower_scatter_elements(Lowering& lowering, const Operation& operation);  // also Scatter
bool lower_scatter_nd(Lowering& lowering, const Operation& operation);

// Chooses by the operator's name; returns false for an operator that is not in the list, too.
bool lower_operation(Lowering& lowering, const Operation& operation);
bool runs_on_gpu(std::string_view op, std::string_view domain);
std::vector<std::string> gpu_operators();  // sorted

// Lowers what follows an operator's result `value`, whose numbers lie in memory: the operation's posts from `first` on and its
// quantization, in one kernel. The result is the operation's output.
void lower_posts(Lowering& lowering, const Operation& operation, ValueId value, size_t first);

// Lowers Concat: the parts, all of one type, side by side along `axis`, with the operation's posts, in one kernel. The operation is not
// quantized.
void lower_joined(Lowering& lowering, const Operation& operation, const std::vector<Operand>& parts, size_t axis, const Form& form);

// The posts as an epilogue: those from the first one that cannot be in it are left to lower_posts. `form`: of the result.
struct EpilogueParts {
  Epilogue epilogue;
  std::optional<ValueId> residual;
  std::vector<float> factors, offsets;  // per channel, before the steps: v * factor + offset; empty where there are none
  size_t used = 0;                      // posts that are in it
};
EpilogueParts epilogue_of(Lowering& lowering, const Operation& operation, int64_t channels, size_t channel_axis);

// Returns an expression in C for an activation of the float `v`.
std::string activation_text(const Activation& activation, const std::string& v);
std::string number_text(float number);  // "0x1.8p+1f": exact
}  // namespace deepgap::gpu
