#include "rig.h"

#include "base/clocks.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/onnx_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <utility>

namespace deepgap::conformance {
namespace {

Backend* backend_under_test = nullptr;
uint64_t random_seed = 1;
int random_rounds = 6;

Tensor random_input(Random& random, DataType type, Shape shape) {
  if (type == DataType::f32) return random_tensor(random, std::move(shape));
  Tensor tensor = make_tensor(type, std::move(shape));
  if (type == DataType::i64) {
    for (int64_t& element : writable<int64_t>(tensor)) element = random.between(-5, 5);
  } else if (type == DataType::i32) {
    for (int32_t& element : writable<int32_t>(tensor)) element = static_cast<int32_t>(random.between(-5, 5));
  } else if (type == DataType::boolean) {
    for (uint8_t& element : writable<uint8_t>(tensor)) element = static_cast<uint8_t>(random.between(0, 1));
  } else {
    throw Error(ErrorKind::internal, "the suite makes no inputs of this type");
  }
  return tensor;
}

Tensor joined(const Samples& samples, const std::vector<uint32_t>& chosen, size_t input) {
  const Tensor& first = samples[0][input];
  Shape shape = first.shape;
  shape[0] *= static_cast<int64_t>(chosen.size());
  Tensor batch = make_tensor(first.type, shape);
  auto* to = writable<std::byte>(batch).data();
  size_t at = 0;
  for (const uint32_t sample : chosen) {
    std::memcpy(to + at, samples[sample][input].data.get(), first.bytes());
    at += first.bytes();
  }
  return batch;
}

// The largest difference allowed is a part in 20,000 of the largest value: Winograd's convolutions and blocked sums stay well below. Where
// a long sum of numbers about 1 comes out near zero, what its order explains is `noise`, whatever the result.
std::string float_difference(std::span<const float> expected, std::span<const float> actual) {
  double largest = 0, worst = 0, reference_power = 0, error_power = 0;
  size_t where = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool same_special = std::isnan(expected[i]) ? std::isnan(actual[i]) : expected[i] == actual[i];
    if (!std::isfinite(expected[i]) || !std::isfinite(actual[i])) {
      if (!same_special) return fmt::format("element {}: {} instead of {}", i, actual[i], expected[i]);
      continue;
    }
    const double error = std::abs(double{expected[i]} - actual[i]);
    largest = std::max(largest, std::abs(double{expected[i]}));
    reference_power += double{expected[i]} * expected[i];
    error_power += error * error;
    if (error > worst) worst = error, where = i;
  }
  const double sqnr_db = error_power > 0 ? 10 * std::log10(reference_power / error_power) : 300;
  constexpr double noise = 5e-6;
  if (worst <= noise || (worst <= 5e-5 * largest && sqnr_db >= 80)) return "";
  return fmt::format("element {}: {} instead of {} ({:.1f} dB)", where, actual[where], expected[where], sqnr_db);
}

}  // namespace

Backend& backend() { return *backend_under_test; }
void set_backend(Backend* opened) { backend_under_test = opened; }
bool computes() { return backend().name() != "null"; }
uint64_t seed() { return random_seed; }
void set_seed(uint64_t value) { random_seed = value; }
int rounds() { return random_rounds; }
void set_rounds(int value) { random_rounds = value; }

GraphModel::GraphModel(Graph graph) : onnx_(write_onnx(graph)), graph_(std::move(graph)), summary_(summarize(graph_)) {}

Samples random_samples(Random& random, const Graph& graph, size_t count) {
  Samples samples(count);
  for (auto& sample : samples) {
    for (const ValueId id : graph.inputs) {
      const Value& value = graph.values[static_cast<size_t>(id)];
      Shape shape;
      for (const Dim& dim : value.dims.value()) shape.push_back(dim.size);  // N is 1
      sample.push_back(random_input(random, value.type, shape));
    }
  }
  return samples;
}

std::vector<Tensor> reference(const Graph& graph, const Samples& samples, const std::vector<uint32_t>& chosen) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) inputs.push_back(joined(samples, chosen, i));
  return evaluate(graph, inputs);
}

std::string difference(const std::vector<Tensor>& expected, std::span<const TensorView> actual) {
  if (expected.size() != actual.size()) return fmt::format("{} outputs instead of {}", actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Shape shape(actual[i].shape.begin(), actual[i].shape.end());
    if (actual[i].type != expected[i].type) {
      return fmt::format("output {} is {} instead of {}", i, name_of(actual[i].type), name_of(expected[i].type));
    }
    if (shape != expected[i].shape) return fmt::format("output {} has shape {} instead of {}", i, shape, expected[i].shape);
    if (!computes()) continue;
    std::string words;
    if (expected[i].type == DataType::f32) {
      words = float_difference(expected[i].as<float>(), actual[i].as<float>());
    } else if (std::memcmp(expected[i].data.get(), actual[i].data, actual[i].bytes()) != 0) {
      words = "its integers differ";
    }
    if (!words.empty()) return fmt::format("output {}, {}", i, words);
  }
  return "";
}

double sqnr_db(const std::vector<Tensor>& expected, std::span<const TensorView> actual) {
  double reference_power = 0, error_power = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].type != DataType::f32) continue;
    const auto right = expected[i].as<float>(), given = actual[i].as<float>();
    for (size_t k = 0; k < right.size(); ++k) {
      reference_power += double{right[k]} * right[k];
      error_power += (double{right[k]} - given[k]) * (double{right[k]} - given[k]);
    }
  }
  return error_power > 0 ? 10 * std::log10(reference_power / error_power) : 300;
}

Rig::Rig(const Model& model, std::vector<int64_t> batches, int slots, int threads, const std::string& precision,
         const std::map<std::string, std::string>& engine_options)
    : clock(make_real_clock()) {
  LoadOptions options{.precision = precision,
                      .batch_sizes = std::move(batches),
                      .slots = slots,
                      .threads = threads,
                      .options = engine_options,
                      .clock = clock.get()};
  options.completion = [this](std::span<const Done> done) {
    const std::lock_guard lock(mutex);
    for (const Done& one : done) {
      delivered[one.tag].push_back(one.status);
      marks.assign(one.marks.begin(), one.marks.end());
    }
  };
  session = backend().load(model, options);
}

void Rig::stage(const Samples& samples) {
  std::vector<std::vector<TensorView>> views;
  Samples kept = samples;  // tensors share their bytes
  for (const auto& sample : kept) {
    auto& row = views.emplace_back();
    for (const Tensor& tensor : sample) row.push_back(tensor.view());
  }
  session->stage(views);
  samples_ = std::move(kept);
}

Status Rig::run(int slot, const std::vector<uint32_t>& samples) {
  const uint64_t tag = next_tag_++;
  session->enqueue(slot, samples, tag);
  session->drain();
  const auto& statuses = delivered[tag];
  if (statuses.size() != 1) throw Error(ErrorKind::internal, fmt::format("a query was delivered {} times", statuses.size()));
  return statuses.front();
}

std::vector<Tensor> Rig::copy_outputs(int slot) const {
  std::vector<Tensor> copies;
  for (const TensorView& view : session->outputs(slot)) {
    Tensor copy = make_tensor(view.type, Shape(view.shape.begin(), view.shape.end()));
    std::memcpy(writable<std::byte>(copy).data(), view.data, view.bytes());
    copies.push_back(std::move(copy));
  }
  return copies;
}

Graph quantized_convolution(uint64_t network_seed) {
  constexpr int64_t in = 16, out = 32;
  Random random(network_seed);
  GraphBuilder net(random, 17);
  const auto eight_bits = [&](DataType type, Shape shape, int64_t low, int64_t high) {
    Tensor tensor = make_tensor(type, std::move(shape));
    for (uint8_t& element : writable<uint8_t>(tensor)) element = static_cast<uint8_t>(random.between(low, high));
    return net.constant(std::move(tensor));
  };
  const auto scale = [&](float value) { return net.floats({}, value, value); };
  const auto around = [&](ValueId x, ValueId step, ValueId zero) {
    return net.node("DequantizeLinear", {net.node("QuantizeLinear", {x, step, zero}), step, zero});
  };
  const ValueId x = around(net.input({in, 12, 12}), scale(2.0f / 255), eight_bits(DataType::u8, {}, 128, 128));
  const ValueId w = net.node(
      "DequantizeLinear",
      {eight_bits(DataType::i8, {out, in, 3, 3}, -127, 127), net.floats({out}, 0.001f, 0.003f), eight_bits(DataType::i8, {out}, 0, 0)},
      {{"axis", int64_t{0}}});
  const std::vector<int64_t> pads(4, 1);
  const ValueId y = net.node("Relu", {net.node("Conv", {x, w, net.floats({out})}, {{"pads", pads}})});
  return net.finish({around(y, scale(4.0f / 255), eight_bits(DataType::u8, {}, 0, 0))});
}

Graph small_network(uint64_t network_seed) {
  Random random(network_seed);
  GraphBuilder net(random, 17);
  const auto batch_norm = [&](ValueId x, int64_t channels) {
    return net.node("BatchNormalization", {x, net.floats({channels}, 0.5f, 1.5f), net.floats({channels}, -0.5f, 0.5f),
                                           net.floats({channels}, -0.5f, 0.5f), net.floats({channels}, 0.5f, 1.5f)});
  };
  const auto relu6 = [&](ValueId x) { return net.node("Clip", {x, net.floats({}, 0, 0), net.floats({}, 6, 6)}); };
  const std::vector<int64_t> kernel3{3, 3}, pads1{1, 1, 1, 1}, stride2{2, 2};
  const ValueId x = net.input({3, 20, 20});
  ValueId y = net.node("Conv", {x, net.floats({16, 3, 3, 3})}, {{"kernel_shape", kernel3}, {"pads", pads1}, {"strides", stride2}});
  y = net.node("Relu", {batch_norm(y, 16)});
  y = net.node("MaxPool", {y}, {{"kernel_shape", kernel3}, {"pads", pads1}, {"strides", stride2}});
  ValueId z = relu6(batch_norm(net.node("Conv", {y, net.floats({32, 16, 1, 1})}), 32));
  z = net.node("Conv", {z, net.floats({32, 1, 3, 3})}, {{"kernel_shape", kernel3}, {"pads", pads1}, {"group", int64_t{32}}});
  z = relu6(batch_norm(z, 32));
  z = batch_norm(net.node("Conv", {z, net.floats({16, 32, 1, 1}, -0.3f, 0.3f), net.floats({16})}), 16);
  y = net.node("Relu", {net.node("Add", {z, y})});
  y = net.node("Flatten", {net.node("GlobalAveragePool", {y})});
  y = net.node("Gemm", {y, net.floats({10, 16}), net.floats({10})}, {{"transB", int64_t{1}}});
  return net.finish({y});
}

}  // namespace deepgap::conformance
