#include "rig.h"

#include "kept_case.h"

#include "base/clocks.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/onnx_writer.h"
#include "model/shape_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace deepgap::conformance {
namespace {

Backend* backend_under_test = nullptr;
uint64_t random_seed = 1;
int random_rounds = 3;

}  // namespace

Tensor joined_samples(const Samples& samples, const std::vector<uint32_t>& chosen, size_t input) {
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

Backend& backend() { return *backend_under_test; }
void set_backend(Backend* opened) { backend_under_test = opened; }
bool computes() { return backend().name() != "null"; }
uint64_t seed() { return random_seed; }
void set_seed(uint64_t value) { random_seed = value; }
int rounds() { return random_rounds; }
void set_rounds(int value) { random_rounds = value; }

std::map<std::string, std::string>& given_options() {
  static std::map<std::string, std::string> options;
  return options;
}

GraphModel::GraphModel(Graph graph) : onnx_(write_onnx(graph)), graph_(std::move(graph)), summary_(summarize(graph_)) {}
GraphModel::GraphModel(Graph graph, std::string onnx) : onnx_(std::move(onnx)), graph_(std::move(graph)), summary_(summarize(graph_)) {}

std::vector<std::string> float_precisions(const GraphSummary& summary) {
  std::vector<std::string> taken;
  for (const char* precision : {"fp32", "tf32", "bf16", "fp16", "mixed"}) {
    if (supports(precision, summary).ok) taken.emplace_back(precision);
  }
  return taken;
}

EngineRequest request_in(const std::string& precision) {
  return {.placement = placement(), .precision = precision_from(precision).value(), .options = given_options()};
}

Support supports(const std::string& precision, const GraphSummary& summary) { return backend().supports(request_in(precision), summary); }

Samples random_samples(Random& random, const Graph& graph, size_t count) {
  Samples samples(count);
  for (auto& sample : samples) {
    for (const ValueId id : graph.inputs) {
      const Value& value = graph.values[static_cast<size_t>(id)];
      Shape shape;
      for (const Dim& dim : value.dims.value()) shape.push_back(dim.size);  // N is 1
      sample.push_back(random_tensor(random, value.type, shape));
    }
  }
  return samples;
}

std::string describe(const Graph& graph) {
  const auto text_of = [](const Attribute& attribute) -> std::string {
    if (const auto* whole = std::get_if<int64_t>(&attribute)) return std::to_string(*whole);
    if (const auto* real = std::get_if<float>(&attribute)) return fmt::format("{}", *real);
    if (const auto* text = std::get_if<std::string>(&attribute)) return *text;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) return fmt::format("[{}]", fmt::join(*list, ","));
    return "...";
  };
  std::string words;
  for (const Node& node : graph.nodes) {
    words += (words.empty() ? "" : "; ") + node.op;
    for (const ValueId input : node.inputs) {
      if (input == no_value) continue;
      const Value& value = graph.values[static_cast<size_t>(input)];
      words += fmt::format(" {}{}", name_of(value.type), value.dims ? to_string(*value.dims) : "?");
    }
    for (const auto& [name, attribute] : node.attributes) words += fmt::format(" {}={}", name, text_of(attribute));
  }
  return words;
}

std::string not_evaluated(const Graph& graph) {
  const std::vector<std::string> known = evaluated_operators();
  for (const Node& node : graph.nodes) {
    if (!std::binary_search(known.begin(), known.end(), node.op)) return node.op;
  }
  return "";
}

std::vector<Tensor> batch_of(const Graph& graph, const Samples& samples, const std::vector<uint32_t>& chosen) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) inputs.push_back(joined_samples(samples, chosen, i));
  return inputs;
}

std::vector<Tensor> reference(const Graph& graph, const Samples& samples, const std::vector<uint32_t>& chosen) {
  return evaluate(graph, batch_of(graph, samples, chosen));
}

namespace {
std::string chosen_device;
}
void set_device(const std::string& name) { chosen_device = name; }

Placement placement() {
  const auto devices = backend().devices();
  const auto is_chosen = [](const DeviceInfo& info) { return fmt::format("{}:{}", info.id.kind, info.id.index) == chosen_device; };
  const auto found = std::find_if(devices.begin(), devices.end(), is_chosen);
  return {.devices = {found == devices.end() ? devices.at(0).id : found->id}};
}

Rig::Rig(const Model& model, std::vector<int64_t> batches, int slots, int threads, const std::string& precision,
         const std::map<std::string, std::string>& engine_options, bool samples_change)
    : clock(make_real_clock()) {
  LoadOptions options{request_in(precision)};
  options.batch_sizes = std::move(batches);
  options.slots = slots;
  options.threads = threads;
  options.options = engine_options;
  options.samples_change = samples_change;
  options.clock = clock.get();
  options.completion = [this](std::span<const Done> done) {
    for (const Done& one : done) {
      note(one);
      if (heard) heard(one);
    }
  };
  for (const auto& [option, value] : given_options()) options.options.emplace(option, value);
  keep_running_model(model, precision, threads);
  session = backend().load(model, options);
}

void Rig::note(const Done& done) {
  const std::lock_guard lock(mutex_);
  delivered[done.tag].push_back(done.status);
  if (done.error != nullptr) error_ = done.error->what();
  if ((done.error != nullptr) != (done.status == Status::failed)) error_ = "a Done whose status and error do not go together";
  marks.assign(done.marks.begin(), done.marks.end());
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
  keep_inputs(samples);
  session->enqueue(slot, samples, tag);
  session->drain();
  const auto& statuses = delivered[tag];
  if (statuses.size() != 1) throw Error(ErrorKind::internal, fmt::format("a query was delivered {} times", statuses.size()));
  return statuses.front();
}

void Rig::keep_inputs(const std::vector<uint32_t>& samples) const {
  const bool known = std::all_of(samples.begin(), samples.end(), [&](uint32_t sample) { return sample < samples_.size(); });
  if (faults_folder().empty() || samples.empty() || !known) return;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < samples_.front().size(); ++i) inputs.push_back(joined_samples(samples_, samples, i));
  keep_running_inputs(inputs);
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
