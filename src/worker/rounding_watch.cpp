#include "worker/rounding_watch.h"

#include "base/words.h"
#include "model/eval/evaluator.h"
#include "worker/check.h"
#include "worker/run_graph.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace deepgap {
namespace {

constexpr float least_beyond_f16 = 65520;  // rounds to infinity

float largest_of(const Tensor& value) {
  float largest = 0;
  for (const float number : value.as<float>())
    if (std::isfinite(number) && std::abs(number) > std::abs(largest)) largest = number;
  return largest;
}

}  // namespace

RoundingWatch::RoundingWatch(const Graph& graph) : graph_(graph) {
  static const std::set<std::string> squaring{"InstanceNormalization", "LpNormalization", "MeanVarianceNormalization", "ReduceL2"};
  for (const Node& node : graph.nodes)
    if (squaring.contains(node.op) && !node.inputs.empty()) squaring_.emplace(node.inputs.front(), &node);
}

std::string RoundingWatch::maker_of(ValueId id) const {
  for (const Node& node : graph_.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end())
      return fmt::format("node '{}' ({})", node.name, node.op);
  return fmt::format("input '{}'", graph_.values[static_cast<size_t>(id)].name);
}

void RoundingWatch::see(ValueId id, const Tensor& value) {
  if (!first_.empty() || graph_.values[static_cast<size_t>(id)].type != DataType::f16 || value.type != DataType::f32) return;
  const float largest = largest_of(value);
  if (std::abs(largest) >= least_beyond_f16) {
    first_ = printable(fmt::format("{} makes {:.3g}, where float16 ends at 65504", maker_of(id), largest));
  } else if (const auto found = squaring_.find(id); found != squaring_.end() && largest * largest >= least_beyond_f16) {
    first_ = printable(
        fmt::format("node '{}' ({}) squares {:.3g}, where float16 ends at 65504", found->second->name, found->second->op, largest));
  }
}

std::string RoundingWatch::why(const Model& model, std::span<const std::vector<TensorView>> queries,
                               const std::vector<std::vector<Tensor>>& outputs) {
  if (!first_.empty()) return first_;
  constexpr double half_of_the_error_db = 6;  // an engine that rounds elsewhere may be as far off on the other side
  const double least_db = min_sqnr_db(Precision::fp16) + half_of_the_error_db;
  OutputComparison comparison;
  for (size_t position = 0; position < queries.size(); ++position) {
    std::vector<Tensor> inputs;
    for (const TensorView& view : queries[position]) inputs.push_back(borrowed(view));
    std::vector<Tensor> rounded;
    try {
      rounded = evaluate(model.graph(), inputs);
    } catch (const Error&) {
      return "";  // an operator that has no form for 16 bits here
    }
    for (size_t i = 0; i < rounded.size(); ++i) {
      const Tensor& unrounded = outputs.at(position).at(i);
      if (rounded[i].type != unrounded.type || rounded[i].shape != unrounded.shape)
        return "rounding after each operator gives outputs of another size";
      comparison.add(i, unrounded.view(), rounded[i].view());
    }
  }
  const CheckResult result = comparison.result(least_db);
  if (result.pass) return "";
  if (!std::isfinite(result.max_abs_error)) return "rounding after each operator makes NaN or infinity of finite numbers";
  return fmt::format("rounding after each operator leaves an SQNR of {:.1f} dB", result.sqnr_db);
}

}  // namespace deepgap
