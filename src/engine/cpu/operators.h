// From one operation to steps: a function per operator in lower_*.cpp, found by the ONNX name. Each returns false where oneDNN does not
// do what the node asks (then nothing was added) and the operation runs through the reference interpreter.
#pragma once

#include "engine/cpu/lowering.h"

#include <string_view>

namespace deepgap {

using LowerFunction = bool (*)(Lowering&, const Operation&);

bool lower_convolution(Lowering& lowering, const Operation& operation);    // Conv
bool lower_deconvolution(Lowering& lowering, const Operation& operation);  // ConvTranspose
bool lower_gemm(Lowering& lowering, const Operation& operation);           // Gemm
bool lower_matmul(Lowering& lowering, const Operation& operation);         // MatMul
bool lower_pool(Lowering& lowering, const Operation& operation);           // MaxPool, AveragePool
bool lower_global_pool(Lowering& lowering, const Operation& operation);    // GlobalAveragePool, GlobalMaxPool
bool lower_resize(Lowering& lowering, const Operation& operation);         // Resize, Upsample
bool lower_reduce_mean(Lowering& lowering, const Operation& operation);    // ReduceMean
bool lower_binary(Lowering& lowering, const Operation& operation);         // Add, Sub, Mul, Div
bool lower_activation(Lowering& lowering, const Operation& operation);     // Relu and the like
bool lower_layer_norm(Lowering& lowering, const Operation& operation);     // LayerNormalization
bool lower_attention(Lowering& lowering, const Operation& operation);      // deepgap.Attention
bool lower_loop(Lowering& lowering, const Operation& operation);           // deepgap.Loop
bool lower_softmax(Lowering& lowering, const Operation& operation);        // Softmax, LogSoftmax
bool lower_concat(Lowering& lowering, const Operation& operation);         // Concat
bool lower_view(Lowering& lowering, const Operation& operation);           // Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout
bool lower_split(Lowering& lowering, const Operation& operation);          // Split
bool lower_transpose(Lowering& lowering, const Operation& operation);      // Transpose
bool lower_quantize(Lowering& lowering, const Operation& operation);       // QuantizeLinear, also of integers
bool lower_dequantize(Lowering& lowering, const Operation& operation);     // DequantizeLinear
// These use our own kernels, where the CPU's products of 8 bits saturate; they are tried before oneDNN.
bool lower_integer_convolution(Lowering& lowering, const Operation& operation);                       // Conv
bool lower_integer_product(Lowering& lowering, const Operation& operation, bool transposes_weights);  // Gemm, MatMul
// These are fused with DequantizeLinear and QuantizeLinear and work on integers.
bool lower_integer_sum(Lowering& lowering, const Operation& operation);   // Add
bool lower_integer_pool(Lowering& lowering, const Operation& operation);  // MaxPool, AveragePool, GlobalAveragePool

// Chooses by the operator's name; returns false for an operator that is not in the list, too.
bool lower_fast(Lowering& lowering, const Operation& operation);
// Returns whether it reads numbers as float32 whatever the others are kept in: softmax, and what only the evaluator has.
bool computes_in_f32(const Node& node);
// Lowers through evaluate_node. Throws Error{refused} naming operator and node.
void lower_fallback(Lowering& lowering, const Operation& operation);
// Returns whether the operator is a fast or an evaluated one.
bool runs_natively(std::string_view op, std::string_view domain);

// Attributes of a primitive with the operation's posts. `arguments` are those of operands; a residual that may be overwritten is not
// among them but is `in_place`, the value whose buffer the result must take.
struct Posts {
  dnnl::primitive_attr attributes;
  std::vector<StepArgument> arguments;
  ValueId in_place = no_value;
  // The number that 1 stands for between the sum of products and the result, if integers are computed: the step of a rounding inside, so
  // that it needs no scaling before and after.
  float unit = 1;
};
// A convolution's or product's types. Integers by the operation's quantization, other numbers as Lowering keeps them.
struct ElementTypes {
  dnnl::memory::data_type source, weights, target;
};
ElementTypes types_of(const Lowering& lowering, const Operation& operation);
// Adds what turns integers into numbers and back: scales and zero points of source, weights (`channel_mask`: the bits of their channel
// axes) and result, as attributes and arguments.
void add_scales(Lowering& lowering, const Operation& operation, int channel_mask, Posts& posts);
// Returns false if this CPU's integer products may be wrong: saturation.h. `channel_axis`: axis of the weights for output channels.
bool is_exact(const Lowering& lowering, const Operation& operation, size_t channel_axis);
// Returns the bias of input 2 in the posts' unit.
StepArgument read_bias(Lowering& lowering, const Operation& operation, const Posts& posts, const dnnl::memory::desc& desc);
// Returns whether oneDNN's implementation is one that is made to be slow.
bool is_reference(const dnnl::primitive_desc_base& description);
// Returns nullopt if a post cannot be expressed. `rank`: rank of the primitive's result.
std::optional<Posts> posts_of(Lowering& lowering, const Operation& operation, size_t rank);
// Returns the result's argument: in place over a residual, or new.
StepArgument write_result(Lowering& lowering, const Operation& operation, const Posts& posts, const dnnl::memory::desc& desc,
                          std::span<const StepArgument> reads);
// Returns attributes of a primitive whose scratch memory is ours; the other function adds that memory.
dnnl::primitive_attr user_scratchpad();
void add_scratchpad(Lowering& lowering, const dnnl::primitive_desc_base& description, std::vector<StepArgument>& arguments);
void append_activation(dnnl::post_ops& posts, const Activation& activation);
// ONNX rounds halves to even and then adds the zero point. oneDNN adds first, so that with an odd zero point halves go to the odd number:
// then the rounding is a post of its own.
bool rounds_before_zero_point(const Quantization& result);
// Appends what makes value * factor + shift the integer of `result`, whose scale `factor` includes.
void append_quantizing(dnnl::post_ops& posts, const Quantization& result, float factor, float shift);
struct EltwiseForm {
  dnnl::algorithm algorithm;
  float alpha, beta;
};
EltwiseForm eltwise_of(const Activation& activation);

// `size` of one axis before and after; explicit pads, auto_pad, strides and dilations of Conv and the pools.
struct Windows {
  dnnl::memory::dims kernel, strides, dilations, before, after;
};
// `dilations` counts from 0, as oneDNN does. Throws Error{input} for contradictions.
Windows windows_of(const Node& node, std::span<const int64_t> input, std::span<const int64_t> output, std::span<const int64_t> kernel);

}  // namespace deepgap
