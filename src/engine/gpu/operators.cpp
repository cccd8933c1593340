#include "engine/gpu/operators.h"

#include "engine/gpu/pointwise.h"
#include "engine/passes/attention.h"

#include <algorithm>
#include <map>
#include <string>

namespace deepgap::gpu {
namespace {

const std::map<std::string_view, LowerFunction>& table() {
  static const std::map<std::string_view, LowerFunction> functions{
      {"Conv", lower_convolution},
      {"ConvTranspose", lower_direct_windows},
      {"Gemm", lower_product},
      {"MatMul", lower_product},
      {"MaxPool", lower_pool},
      {"AveragePool", lower_pool},
      {"GlobalAveragePool", lower_reduce},
      {"GlobalMaxPool", lower_reduce},
      {"QuantizeLinear", lower_quantize},
      {"DequantizeLinear", lower_quantize},
      {"Reshape", lower_view},
      {"Flatten", lower_view},
      {"Squeeze", lower_view},
      {"Unsqueeze", lower_view},
      {"Transpose", lower_transpose},
      {"Concat", lower_concat},
      {"Split", lower_split},
      {"Slice", lower_slice},
      {"Expand", lower_expand},
      {"Tile", lower_expand},
      {"Pad", lower_pad},
      {"Gather", lower_gather},
      {"GatherElements", lower_gather},
      {"DepthToSpace", lower_depth},
      {"SpaceToDepth", lower_depth},
      {"Resize", lower_resize},
      {"Upsample", lower_resize},
      {"ReduceSum", lower_reduce},
      {"ReduceMean", lower_reduce},
      {"ReduceMax", lower_reduce},
      {"ReduceMin", lower_reduce},
      {"ReduceProd", lower_reduce},
      {"ReduceL1", lower_reduce},
      {"ReduceL2", lower_reduce},
      {"ReduceSumSquare", lower_reduce},
      {"ReduceLogSum", lower_reduce},
      {"ArgMax", lower_reduce},
      {"ArgMin", lower_reduce},
      {"Softmax", lower_softmax},
      {"LogSoftmax", lower_softmax},
      {"LayerNormalization", lower_normalize},
      {"GroupNormalization", lower_normalize},
      {"MeanVarianceNormalization", lower_normalize},
      {"LpNormalization", lower_normalize},
      {"LpPool", lower_pool},
      {"GlobalLpPool", lower_reduce},
      {"ReduceLogSumExp", lower_reduce},
      {"Einsum", lower_einsum},
      {"Trilu", lower_trilu},
      {"EyeLike", lower_eye_like},
      {"ConstantOfShape", lower_constant_of_shape},
      {"Range", lower_range},
      {"OneHot", lower_one_hot},
      {"GatherND", lower_gather_nd},
      {"CumSum", lower_cum_sum},
      {"ReverseSequence", lower_reverse_sequence},
      {"TopK", lower_top_k},
      {"Hardmax", lower_hardmax},
      {"LRN", lower_lrn},
      {"Scatter", lower_scatter_elements},
      {"ScatterElements", lower_scatter_elements},
      {"ScatterND", lower_scatter_nd},
      {"InstanceNormalization", lower_normalize},
      {"DynamicQuantizeLinear", lower_dynamic_quantize},
      {"MatMulInteger", lower_integer_product},
      {"ConvInteger", lower_integer_product},
      {"CumProd", lower_cum_sum},
      {"RMSNormalization", lower_normalize},
      {"RotaryEmbedding", lower_rotary_embedding},
      {"RoiAlign", lower_roi_align},
      {"DeformConv", lower_deform_conv},
      {"GridSample", lower_grid_sample},
      {"LSTM", lower_recurrent},
      {"GRU", lower_recurrent},
      {"RNN", lower_recurrent},
  };
  return functions;
}

}  // namespace

bool lower_operation(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (is_attention(*operation.node)) return lower_attention(lowering, operation);
  if (is_region(node)) return lower_region(lowering, operation);
  if (!node.domain.empty()) return false;
  const auto found = table().find(node.op);
  return found == table().end() ? lower_pointwise(lowering, operation) : found->second(lowering, operation);
}

std::vector<std::string> gpu_operators() {
  std::vector<std::string> names = pointwise_operators();
  for (const auto& [name, function] : table()) names.emplace_back(name);
  // The passes replace these before lowering.
  for (const char* gone : {"BatchNormalization", "Constant", "Shape", "Size", "NonMaxSuppression"})  // the last is part of a Region
    names.emplace_back(gone);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool runs_on_gpu(std::string_view op, std::string_view domain) {
  static const std::vector<std::string> names = gpu_operators();
  return domain.empty() && std::binary_search(names.begin(), names.end(), op);
}

}  // namespace deepgap::gpu
