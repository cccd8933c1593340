#include "worker/quantized_outputs.h"

#include "model/model_of.h"
#include "worker/check.h"
#include "worker/run_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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
    for (const TensorView& view : outputs)
      if (is_compared(view.type)) result[position].push_back(copy_of(view));
  });
  return result;
}

// The reference that INT8 is compared with.
struct OutputJudgement {
  const Model& model;
  std::vector<std::vector<TensorView>> samples;
  int threads;
  Outputs expected;
};

struct Compared {
  double sqnr_db = 0;           // the worst output's over all samples
  std::vector<double> samples;  // and on each
};

bool add(OutputComparison& comparison, const std::vector<Tensor>& expected, const std::vector<Tensor>& actual) {
  for (size_t output = 0; output < expected.size(); ++output) {
    if (actual[output].shape != expected[output].shape) return false;
    comparison.add(output, expected[output].view(), actual[output].view());
  }
  return !expected.empty();
}

// Compares on the first `count` samples; nothing where they cannot be compared.
std::optional<Compared> compared(const OutputJudgement& judgement, const Graph& graph, size_t count) {
  const Samples samples = Samples(judgement.samples).first(std::min(judgement.samples.size(), count));
  const Outputs actual = outputs_of(*model_of(judgement.model.name(), graph), samples, judgement.threads);
  Compared result;
  OutputComparison all;
  for (size_t i = 0; i < samples.size(); ++i) {
    OutputComparison one;
    if (!add(one, judgement.expected[i], actual[i]) || !add(all, judgement.expected[i], actual[i])) return std::nullopt;
    result.samples.push_back(one.result(0).sqnr_db);
  }
  result.sqnr_db = all.result(0).sqnr_db;
  return result;
}

// Puts first the samples on which the outputs are worst, as they reveal most about the nodes.
void put_worst_first(OutputJudgement& judgement, const std::vector<double>& sqnr_db) {
  std::vector<size_t> order(sqnr_db.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sqnr_db[a] < sqnr_db[b]; });
  std::vector<std::vector<TensorView>> samples;
  Outputs expected;
  for (const size_t i : order) {
    samples.push_back(std::move(judgement.samples[i]));
    expected.push_back(std::move(judgement.expected[i]));
  }
  judgement.samples = std::move(samples);
  judgement.expected = std::move(expected);
}

double error_of(double sqnr_db) { return std::pow(10, -sqnr_db / 10); }

struct Sensitivity {
  size_t node = 0;
  double sqnr_db = 0;  // SQNR of the outputs, with this node alone in INT8
};

// The most sensitive node first.
std::vector<Sensitivity> sensitivities(const OutputJudgement& judgement, const Quantizer& quantizer) {
  std::vector<Sensitivity> result;
  for (const size_t node : quantizer.quantized()) {
    const auto alone = quantizer.only(node);
    const auto sensed = alone ? compared(judgement, *alone, sensing_samples) : std::nullopt;
    if (sensed) result.push_back({node, sensed->sqnr_db});
  }
  std::stable_sort(result.begin(), result.end(), [](const Sensitivity& a, const Sensitivity& b) { return a.sqnr_db < b.sqnr_db; });
  return result;
}

// Nothing where no set of nodes worth the name does; then all are as they were.
std::optional<double> keep_most_sensitive(const OutputJudgement& judgement, double wanted_db, double least_share, Quantizer& quantizer) {
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
    const auto reached = compared(judgement, trial.graph, judgement.samples.size());
    if (reached && reached->sqnr_db >= wanted_db) return reached->sqnr_db;
  }
  for (size_t i = 0; i < next; ++i) quantizer.release(nodes[i].node);
  return std::nullopt;
}

}  // namespace

std::optional<double> keep_for_outputs(const Model& model, Samples samples, const QuantizeSettings& settings, int threads,
                                       Quantizer& quantizer) {
  const QuantizedGraph all = quantizer.quantize();
  if (all.quantized_nodes == 0) return std::nullopt;
  samples = samples.first(std::min(samples.size(), output_samples));
  OutputJudgement judgement{model, {samples.begin(), samples.end()}, threads, outputs_of(model, samples, threads)};
  const auto first = compared(judgement, all.graph, samples.size());
  if (!first) return std::nullopt;
  if (first->sqnr_db >= settings.min_output_sqnr_db) return first->sqnr_db;
  put_worst_first(judgement, first->samples);
  const auto mended = keep_most_sensitive(judgement, settings.min_output_sqnr_db, all.int8_mac_share / 2, quantizer);
  return mended.value_or(first->sqnr_db);
}

}  // namespace deepgap
