// Activations. Which of them are the same bits everywhere is said in eval_unary.cpp.
#include "model/eval/map_elements.h"
#include "model/eval/widened.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace deepgap {

namespace {

double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(-std::fabs(x))) + std::max(x, 0.0); }
double mish(double x) { return x * std::tanh(softplus(x)); }
double gelu_by_erf(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_by_tanh(double x) {
  const double scale = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
}

std::vector<Tensor> gelu(const Call& call) {
  const std::string approximate = call.text_of("approximate", "none");
  if (approximate == "none") return map_library<gelu_by_erf>(call);
  if (approximate != "tanh") call.refuse("approximate '" + approximate + "' is not none or tanh");
  return map_library<gelu_by_tanh>(call);
}

// scale * x, below zero scale * alpha * (exp(x / width) - 1).
std::vector<Tensor> exponential_below_zero(const Call& call, double alpha, double scale, double width) {
  constexpr double operations = 20;
  const auto activate = [=](auto value) {
    const double x = value;
    return static_cast<decltype(value)>(x < 0 ? scale * alpha * std::expm1(x / width) : scale * x);
  };
  return map_floats(call, activate, operations);
}
std::vector<Tensor> elu(const Call& call) { return exponential_below_zero(call, call.float_of("alpha", 1), 1, 1); }
std::vector<Tensor> celu(const Call& call) {
  const double alpha = call.float_of("alpha", 1);
  return exponential_below_zero(call, alpha, 1, alpha);
}
std::vector<Tensor> selu(const Call& call) {
  return exponential_below_zero(call, call.float_of("alpha", 1.67326319217681884765625f),
                                call.float_of("gamma", 1.05070102214813232421875f), 1);
}

std::vector<Tensor> relu(const Call& call) {
  return map_numbers(call, [](auto x) { return std::max(x, decltype(x){0}); });
}

std::vector<Tensor> leaky_relu(const Call& call) {
  const float alpha = call.float_of("alpha", 0.01f);
  return map_floats(call, [=](auto x) { return x < 0 ? static_cast<decltype(x)>(alpha) * x : x; });
}

std::vector<Tensor> thresholded_relu(const Call& call) {
  const float alpha = call.float_of("alpha", 1);
  return map_floats(call, [=](auto x) { return x > alpha || not_a_number(x) ? x : decltype(x){0}; });
}

// In this order, so that a NaN stays one.
template <typename T>
T hard_sigmoid_of(T x, T alpha, T beta) {
  return std::max(std::min(alpha * x + beta, T{1}), T{0});
}

std::vector<Tensor> hard_sigmoid(const Call& call) {
  const float alpha = call.float_of("alpha", 0.2f), beta = call.float_of("beta", 0.5f);
  return map_floats(call, [=]<typename T>(T x) { return hard_sigmoid_of(x, static_cast<T>(alpha), static_cast<T>(beta)); });
}

std::vector<Tensor> hard_swish(const Call& call) {
  return map_floats(call, []<typename T>(T x) { return x * hard_sigmoid_of(x, T{1} / T{6}, T{0.5}); });
}

std::vector<Tensor> softsign(const Call& call) {
  return map_floats(call, [](auto x) { return x / (1 + std::fabs(x)); });
}

std::vector<Tensor> shrink(const Call& call) {
  const float bias = call.float_of("bias", 0), lambda = call.float_of("lambd", 0.5f);
  return map_numbers(call, [=]<typename T>(T x) {
    const auto number = static_cast<std::conditional_t<std::is_same_v<T, float>, float, double>>(x);
    if (number < -lambda) return convert<T>(number + bias);
    return number > lambda ? convert<T>(number - bias) : T{0};
  });
}

template <typename T>
T bound(const Call& call, size_t index, const char* attribute, T fallback) {
  if (call.has(index)) {
    const Tensor& tensor = call.input(index);
    if (tensor.type != call.input(0).type || tensor.bytes() != sizeof(T)) call.fail("a bound is not one number of the input's type");
    return tensor.as<T>()[0];
  }
  return call.node.attributes.contains(attribute) ? convert<T>(call.float_of(attribute, 0)) : fallback;
}

std::vector<Tensor> clip(const Call& call) {
  const Tensor& x = call.input(0);
  return with_number(call, x.type, [&]<typename T>(T) {
    const T low = bound<T>(call, 1, "min", std::numeric_limits<T>::lowest());
    const T high = bound<T>(call, 2, "max", std::numeric_limits<T>::max());
    // Not std::clamp: a NaN must stay one, and the specification lets the upper bound win where the bounds cross.
    return std::vector{map_elements<T, T>(x, x.type, 1, [=](T value) {
      const T raised = value < low ? low : value;
      return raised > high ? high : raised;
    })};
  });
}

const bool registered[] = {
    add_operator("Celu", widened<celu>),
    add_operator("Clip", widened<clip>),
    add_operator("Elu", widened<elu>),
    add_operator("Gelu", widened<gelu>),
    add_operator("HardSigmoid", widened<hard_sigmoid>),
    add_operator("HardSwish", widened<hard_swish>),
    add_operator("LeakyRelu", widened<leaky_relu>),
    add_operator("Mish", widened<map_library<mish>>),
    add_operator("Relu", widened<relu>),
    add_operator("Selu", widened<selu>),
    add_operator("Shrink", widened<shrink>),
    add_operator("Sigmoid", widened<map_library<logistic>>),
    add_operator("Softplus", widened<map_library<softplus>>),
    add_operator("Softsign", widened<softsign>),
    add_operator("Tanh", widened<map_library<std::tanh>>),
    add_operator("ThresholdedRelu", widened<thresholded_relu>),
};

}  // namespace

}  // namespace deepgap
