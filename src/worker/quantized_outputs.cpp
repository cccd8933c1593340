#include "worker/quantized_outputs.h"

#include "model/model_of.h"
#include "worker/check.h"
#include "worker/run_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

using Samples = std::span<const std::vector<TensorView>>;
using Outputs = std::vector<std::vector<Tensor>>;  // by sample; those of floating point

constexpr double step_db = 1;          // how much more is aimed at where errors were taken for too small
constexpr size_t sensing_samples = 2;  // the order of the nodes needs no more

bool is_compared(DataType type) { return type == DataType::f32 || type == DataType::f64; }

Outputs outputs_of(const Model& model, Samples samples, int threads) {
  Outputs result(samples.size());
  run_fp32(model, threads, samples, [&](size_t position, std::span<const TensorView> outputs) {
    for (const TensorView& view : outputs) {
      if (!is_compared(view.type)) continue;
      Tensor copy = make_tensor(view.type, Shape(view.shape.begin(), view.shape.end()));
      std::memcpy(writable<std::byte>(copy).data(), view.data, view.bytes());
      result[position].push_back(std::move(copy));
    }
  });
  return result;
}

// What INT8 is compared with, and how.
struct Judgement {
  const Model& model;
  Samples samples;
  int threads;
  Outputs expected;

  std::optional<double> sqnr_db(const Graph& graph, size_t samples_at_most) const {
    const Samples few = samples.first(std::min(samples.size(), samples_at_most));
    const Outputs actual = outputs_of(*model_of(model.name(), graph), few, threads);
    OutputComparison comparison;
    size_t compared = 0;
    for (size_t sample = 0; sample < few.size(); ++sample) {
      for (size_t output = 0; output < expected[sample].size(); ++output, ++compared) {
        if (actual[sample][output].shape != expected[sample][output].shape) return std::nullopt;
        comparison.add(output, expected[sample][output].view(), actual[sample][output].view());
      }
    }
    return compared == 0 ? std::nullopt : std::optional(comparison.result(0).sqnr_db);
  }
};

double error_of(double sqnr_db) { return std::pow(10, -sqnr_db / 10); }

struct Sensitivity {
  size_t node = 0;
  double sqnr_db = 0;  // of the outputs, with this node alone in INT8
};

// The most sensitive node first.
std::vector<Sensitivity> sensitivities(const Judgement& judgement, const Quantizer& quantizer) {
  std::vector<Sensitivity> result;
  for (const size_t node : quantizer.quantized()) {
    const auto alone = quantizer.only(node);
    const auto sqnr_db = alone ? judgement.sqnr_db(*alone, sensing_samples) : std::nullopt;
    if (sqnr_db) result.push_back({node, *sqnr_db});
  }
  std::stable_sort(result.begin(), result.end(), [](const Sensitivity& a, const Sensitivity& b) { return a.sqnr_db < b.sqnr_db; });
  return result;
}

// Nothing where no set of nodes worth the name does; then all are as they were.
std::optional<double> keep_most_sensitive(const Judgement& judgement, double wanted_db, double least_share, Quantizer& quantizer) {
  const std::vector<Sensitivity> nodes = sensitivities(judgement, quantizer);
  double left = 0;  // error of the nodes from `next` on
  for (const Sensitivity& node : nodes) left += error_of(node.sqnr_db);
  size_t next = 0;
  for (double aim_db = wanted_db; next < nodes.size(); aim_db += step_db) {
    const size_t before = next;
    while (next < nodes.size() && (next == before || left > error_of(aim_db))) {
      quantizer.keep(nodes[next].node, fmt::format("outputs SQNR {:.1f} dB by it alone", nodes[next].sqnr_db));
      left -= error_of(nodes[next++].sqnr_db);
    }
    const QuantizedGraph trial = quantizer.quantize();
    if (trial.quantized_nodes == 0 || trial.int8_mac_share < least_share) break;
    const auto reached = judgement.sqnr_db(trial.graph, judgement.samples.size());
    if (reached && *reached >= wanted_db) return reached;
  }
  for (size_t i = 0; i < next; ++i) quantizer.release(nodes[i].node);
  return std::nullopt;
}

}  // namespace

std::optional<double> keep_for_outputs(const Model& model, Samples samples, const QuantizeSettings& settings, int threads,
                                       Quantizer& quantizer) {
  const QuantizedGraph all = quantizer.quantize();
  if (all.quantized_nodes == 0) return std::nullopt;
  const Judgement judgement{model, samples, threads, outputs_of(model, samples, threads)};
  const auto first = judgement.sqnr_db(all.graph, samples.size());
  if (!first || *first >= settings.min_output_sqnr_db) return first;
  const auto mended = keep_most_sensitive(judgement, settings.min_output_sqnr_db, all.int8_mac_share / 2, quantizer);
  return mended ? mended : first;
}

}  // namespace deepgap
