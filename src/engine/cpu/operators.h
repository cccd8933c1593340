// From one operation to steps: a function per operator in lower_*.cpp, found by the ONNX name. Each returns false where oneDNN does not
// do what the node asks (then nothing was added) and the operation runs through the plain evaluator.
#pragma once

#include "engine/cpu/lowering.h"

#include <map>
#include <string_view>

namespace deepgap {

using LowerFunction = bool (*)(Lowering&, const Operation&);

bool lower_convolution(Lowering& lowering, const Operation& operation);    // Conv
bool lower_deconvolution(Lowering& lowering, const Operation& operation);  // ConvTranspose
bool lower_gemm(Lowering& lowering, const Operation& operation);           // Gemm
bool lower_matmul(Lowering& lowering, const Operation& operation);         // MatMul
bool lower_pool(Lowering& lowering, const Operation& operation);           // MaxPool, AveragePool
bool lower_global_pool(Lowering& lowering, const Operation& operation);    // GlobalAveragePool, GlobalMaxPool
bool lower_reduce_mean(Lowering& lowering, const Operation& operation);    // ReduceMean
bool lower_binary(Lowering& lowering, const Operation& operation);         // Add, Sub, Mul, Div
bool lower_activation(Lowering& lowering, const Operation& operation);     // Relu and the like
bool lower_batch_norm(Lowering& lowering, const Operation& operation);     // BatchNormalization
bool lower_softmax(Lowering& lowering, const Operation& operation);        // Softmax, LogSoftmax
bool lower_concat(Lowering& lowering, const Operation& operation);         // Concat
bool lower_view(Lowering& lowering, const Operation& operation);           // Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout
bool lower_transpose(Lowering& lowering, const Operation& operation);      // Transpose

// By name; false for an operator that is not in the list, too.
bool lower_fast(Lowering& lowering, const Operation& operation);
// Through evaluate_node. Throws Error{refused} naming operator and node.
void lower_fallback(Lowering& lowering, const Operation& operation);
// Operators that lower_fast knows, sorted.
std::vector<std::string> fast_operators();
// Fast ones and evaluated ones.
bool runs_natively(std::string_view op, std::string_view domain);

// Attributes of a primitive with the operation's posts. `arguments` are those of operands; a residual that may be overwritten is not
// among them but is `in_place`, the value whose buffer the result must take.
struct Posts {
  dnnl::primitive_attr attributes;
  std::vector<StepArgument> arguments;
  ValueId in_place = no_value;
};
// nullopt when a post is not expressible.
std::optional<Posts> posts_of(Lowering& lowering, const Operation& operation);
// The result's argument: in place over a residual, or new.
StepArgument write_result(Lowering& lowering, const Operation& operation, const Posts& posts, const dnnl::memory::desc& desc,
                          std::span<const StepArgument> reads);
// Adds the scratch memory that a primitive asks for.
void add_scratchpad(Lowering& lowering, const dnnl::primitive_desc_base& description, std::vector<StepArgument>& arguments);
void append_activation(dnnl::post_ops& posts, const Activation& activation);
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
