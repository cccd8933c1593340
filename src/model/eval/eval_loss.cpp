// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, as a network's last operator. Sums run in double precision, in the order of
// memory.
#include "model/eval/element_types.h"
#include "model/eval/evaluator.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <optional>

namespace deepgap {
namespace {

// Reduces the losses of the places of a [N, C, ...] input to the result.
struct Reduction {
  std::string kind;
  std::optional<int64_t> ignored;  // a class
};

Reduction reduction_of(const Call& call) {
  Reduction reduction{call.text_of("reduction", "mean"), {}};
  if (reduction.kind != "none" && reduction.kind != "sum" && reduction.kind != "mean")
    call.fail("its reduction is not one of none, sum, mean");
  if (call.node.attributes.contains("ignore_index")) reduction.ignored = call.int_of("ignore_index", 0);
  return reduction;
}

template <typename T>
Tensor loss_of(const Call& call, const Tensor& log_probabilities, const Reduction& reduction) {
  const Shape& shape = log_probabilities.shape;
  const int64_t classes = shape[1], places = product_of(std::span(shape).subspan(2));
  const auto targets = call.integers(1);
  if (call.has(2) && (call.input(2).shape != Shape{classes} || call.input(2).type != log_probabilities.type))
    call.fail("its weight is not one number for each class");
  Tensor each = make_tensor(log_probabilities.type, call.input(1).shape);
  double sum = 0, weights = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    const int64_t target = targets[i], sample = static_cast<int64_t>(i) / places, place = static_cast<int64_t>(i) % places;
    double loss = 0;
    if (target != reduction.ignored) {
      if (target < 0 || target >= classes) call.fail(fmt::format("target {} of {} classes", target, classes));
      const double weight = call.has(2) ? static_cast<double>(call.input(2).as<T>()[static_cast<size_t>(target)]) : 1;
      loss = -weight * static_cast<double>(log_probabilities.as<T>()[static_cast<size_t>((sample * classes + target) * places + place)]);
      weights += weight;
    }
    writable<T>(each)[i] = static_cast<T>(loss);
    sum += loss;
  }
  if (reduction.kind == "none") return each;
  Tensor all = make_tensor(log_probabilities.type, {});
  writable<T>(all)[0] = static_cast<T>(reduction.kind == "sum" ? sum : sum / weights);
  return all;
}

Tensor reduced_loss(const Call& call, const Tensor& log_probabilities) {
  const Shape& shape = log_probabilities.shape;
  if (shape.size() < 2) call.fail("its input has no classes");
  Shape expected{shape[0]};
  expected.insert(expected.end(), shape.begin() + 2, shape.end());
  if (call.input(1).shape != expected) call.fail("its target does not have the shape of the input without the classes");
  const Reduction reduction = reduction_of(call);
  return with_float(call, log_probabilities.type, [&]<typename T>(T) { return loss_of<T>(call, log_probabilities, reduction); });
}

std::vector<Tensor> negative_log_likelihood_loss(const Call& call) { return {reduced_loss(call, call.input(0))}; }

std::vector<Tensor> softmax_cross_entropy_loss(const Call& call) {
  const Node logarithm{call.node.name, "LogSoftmax", "", {}, {}, {{"axis", int64_t{1}}}};
  const Tensor inputs[] = {call.input(0)};
  const Tensor log_probabilities = evaluate_node(call.graph, logarithm, inputs)[0];
  return {reduced_loss(call, log_probabilities), log_probabilities};
}

const bool registered[] = {
    add_operator("NegativeLogLikelihoodLoss", widened<negative_log_likelihood_loss>),
    add_operator("SoftmaxCrossEntropyLoss", widened<softmax_cross_entropy_loss>),
};

}  // namespace
}  // namespace deepgap
