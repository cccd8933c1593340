// Element by element, one input. What is exact in IEEE arithmetic (Relu, Clip, HardSigmoid, Sqrt, ...) gives the same bits on every
// machine. Exp, Log, Erf, Tanh, Sigmoid and Pow go through the C library in double precision and are then rounded: right to within one unit
// in the last place of a float, and practically but not provably the same everywhere. None of these is on the path of seeded weights.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace deepgap {

namespace {

constexpr int64_t chunk = 1 << 14;

template <typename T, typename F>
Tensor map(const Tensor& x, double weight, F function) {
  Tensor y = make_tensor(x.type, x.shape);
  const auto from = x.as<T>();
  const auto to = writable<T>(y);
  const auto count = static_cast<int64_t>(from.size());
  parallel_for((count + chunk - 1) / chunk, weight * chunk, [&](int64_t part) {
    const int64_t end = std::min(count, (part + 1) * chunk);
    for (int64_t i = part * chunk; i < end; ++i) to[i] = function(from[i]);
  });
  return y;
}

template <typename F>
std::vector<Tensor> map_float(const Call& call, F function, double weight = 1) {
  call.expect(call.input(0), DataType::f32);
  return {map<float>(call.input(0), weight, function)};
}

template <typename F>
std::vector<Tensor> map_number(const Call& call, F function) {
  const Tensor& x = call.input(0);
  if (x.type == DataType::i64) return {map<int64_t>(x, 1, function)};
  if (x.type == DataType::i32) return {map<int32_t>(x, 1, function)};
  return map_float(call, function);
}

template <double (*function)(double)>
std::vector<Tensor> library(const Call& call) {
  return map_float(
      call, [](float x) { return static_cast<float>(function(static_cast<double>(x))); }, 20);
}

double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

template <typename T>
T bound(const Call& call, size_t index, const char* attribute, T fallback) {
  if (call.has(index)) {
    const Tensor& tensor = call.input(index);
    if (tensor.type != call.input(0).type || tensor.bytes() != sizeof(T)) call.fail("a bound is not one number of the input's type");
    return tensor.as<T>()[0];
  }
  if constexpr (std::is_same_v<T, float>) return call.float_of(attribute, fallback);
  return fallback;
}

template <typename T>
Tensor clip_as(const Call& call) {
  const T low = bound<T>(call, 1, "min", std::numeric_limits<T>::lowest());
  const T high = bound<T>(call, 2, "max", std::numeric_limits<T>::max());
  // Not std::clamp: a NaN must stay one, and the specification lets the upper bound win where the bounds cross.
  return map<T>(call.input(0), 1, [=](T x) {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  });
}

std::vector<Tensor> clip(const Call& call) {
  const DataType type = call.input(0).type;
  if (type == DataType::i64) return {clip_as<int64_t>(call)};
  if (type == DataType::i32) return {clip_as<int32_t>(call)};
  call.expect(call.input(0), DataType::f32);
  return {clip_as<float>(call)};
}

std::vector<Tensor> leaky_relu(const Call& call) {
  const float alpha = call.float_of("alpha", 0.01f);
  return map_float(call, [=](float x) { return x < 0 ? alpha * x : x; });
}

float hard_sigmoid_of(float x, float alpha, float beta) { return std::max(0.0f, std::min(1.0f, alpha * x + beta)); }

std::vector<Tensor> hard_sigmoid(const Call& call) {
  const float alpha = call.float_of("alpha", 0.2f), beta = call.float_of("beta", 0.5f);
  return map_float(call, [=](float x) { return hard_sigmoid_of(x, alpha, beta); });
}

std::vector<Tensor> hard_swish(const Call& call) {
  return map_float(call, [](float x) { return x * hard_sigmoid_of(x, 1.0f / 6.0f, 0.5f); });
}

std::vector<Tensor> relu(const Call& call) {
  return map_number(call, [](auto x) { return x < 0 ? decltype(x){0} : x; });
}
std::vector<Tensor> negate(const Call& call) {
  return map_number(call, [](auto x) { return static_cast<decltype(x)>(-x); });
}
std::vector<Tensor> absolute(const Call& call) {
  return map_number(call, [](auto x) { return static_cast<decltype(x)>(x < 0 ? -x : x); });
}
std::vector<Tensor> square_root(const Call& call) {
  return map_float(call, [](float x) { return std::sqrt(x); });
}
std::vector<Tensor> reciprocal(const Call& call) {
  return map_float(call, [](float x) { return 1.0f / x; });
}
std::vector<Tensor> floor_of(const Call& call) {
  return map_float(call, [](float x) { return std::floor(x); });
}
std::vector<Tensor> ceil_of(const Call& call) {
  return map_float(call, [](float x) { return std::ceil(x); });
}
std::vector<Tensor> round_of(const Call& call) {  // halves to even
  return map_float(call, [](float x) { return std::nearbyint(x); });
}

std::vector<Tensor> logical_not(const Call& call) {
  call.expect(call.input(0), DataType::boolean);
  return {map<uint8_t>(call.input(0), 1, [](uint8_t x) { return static_cast<uint8_t>(x == 0); })};
}

const bool registered[] = {
    add_operator("Abs", absolute),
    add_operator("Ceil", ceil_of),
    add_operator("Clip", clip),
    add_operator("Erf", library<std::erf>),
    add_operator("Exp", library<std::exp>),
    add_operator("Floor", floor_of),
    add_operator("HardSigmoid", hard_sigmoid),
    add_operator("HardSwish", hard_swish),
    add_operator("LeakyRelu", leaky_relu),
    add_operator("Log", library<std::log>),
    add_operator("Neg", negate),
    add_operator("Not", logical_not),
    add_operator("Reciprocal", reciprocal),
    add_operator("Relu", relu),
    add_operator("Round", round_of),
    add_operator("Sigmoid", library<logistic>),
    add_operator("Sqrt", square_root),
    add_operator("Tanh", library<std::tanh>),
};

}  // namespace

}  // namespace deepgap
