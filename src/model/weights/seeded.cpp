// How seeded weights are made, and why.
//
// Random weights alone make a deep network answer nearly the same for every input, so a check of outputs passes whatever an engine
// computes. Three things mend that: BatchNorm statistics measured on inputs like those it will see keep every layer's output spread; a
// gain of 0.1 at the end of each residual branch keeps the network from being chaotic (an error in one layer is not amplified by all the
// rest); and a classifier whose mean answer is zero leaves only what differs between inputs. The statistics need one pass through the
// network, in which each BatchNorm is set from its own input just before it runs.
// A detector's class scores begin at 0.02, so that suppression meets about as many boxes as in a trained one (Lin et al., "Focal loss for
// dense object detection", 2017, begin so too).
// Transformers have LayerNorm, which needs no statistics. What words and places stand for is drawn at random, so that an exchange of two
// tokens shows. Their classifier is centred through Erf and Softmax, whose last bits are the C library's.
#include "model/weights/seeded.h"

#include "model/decoder/decoder.h"
#include "model/eval/evaluator.h"
#include "model/eval/parallel.h"
#include "model/graph_tools.h"
#include "model/input_uses.h"
#include "model/integer_values.h"
#include "model/weights/seeded_cache.h"
#include "stats/philox.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace deepgap {

namespace {

// Samples of the calibration batch; fewer of pictures so large that these would take many minutes.
constexpr int64_t most_samples = 8, least_samples = 2, most_pixels = 4'000'000;
// Samples of the calibration batch lie far from those that a Dataset draws with the same seed.
constexpr uint64_t calibration_index = uint64_t{1} << 40;
constexpr float residual_gain = 0.1f;
constexpr float rare_score = -3.8918203f;  // ln(0.02 / 0.98): a Sigmoid makes 0.02 of it

void fill_integers(std::span<int64_t> values, IntegerRange range, uint64_t seed, const std::string& name) {
  const uint64_t stream = stream_of(name);
  for (size_t i = 0; i < values.size(); ++i) values[i] = range.number(philox_block(seed, stream, i / 4)[i % 4]);
}

// The use of a constant, as the first node that reads it shows.
struct Use {
  const Node* node = nullptr;
  size_t input = 0;
  bool in_body = false;  // in the body of an If or a Loop
};

// Longest path from the inputs, in nodes.
std::vector<int> depths(const Graph& graph) {
  std::vector<int> depth(graph.values.size(), 0);
  for (const Node& node : graph.nodes) {
    int longest = 0;
    for (ValueId id : node.inputs)
      if (id != no_value) longest = std::max(longest, depth[id]);
    for (ValueId id : node.outputs)
      if (id != no_value) depth[id] = longest + 1;
  }
  return depth;
}

// Per value the node that makes it, or nullptr.
std::vector<const Node*> makers(const Graph& graph) {
  std::vector<const Node*> maker(graph.values.size(), nullptr);
  for (const Node& node : graph.nodes)
    for (ValueId id : node.outputs)
      if (id != no_value) maker[id] = &node;
  return maker;
}

// The BatchNorms that end a residual branch: of two values that are added, the one that took the longer way.
std::set<const Node*> branch_ends(const Graph& graph) {
  const std::vector<int> depth = depths(graph);
  const std::vector<const Node*> maker = makers(graph);
  std::set<const Node*> ends;
  for (const Node& node : graph.nodes) {
    if (node.op != "Add" || node.inputs.size() != 2) continue;
    if (!maker[node.inputs[0]] || !maker[node.inputs[1]]) continue;
    const ValueId branch = depth[node.inputs[0]] >= depth[node.inputs[1]] ? node.inputs[0] : node.inputs[1];
    if (maker[branch]->op == "BatchNormalization") ends.insert(maker[branch]);
  }
  return ends;
}

// The convolutions whose sums a Sigmoid turns into the scores of a suppression.
std::set<const Node*> score_makers(const Graph& graph) {
  static const std::set<std::string_view> passing{"Concat", "Reshape", "Sigmoid", "Slice", "Transpose"};
  const std::vector<const Node*> maker = makers(graph);
  std::set<const Node*> found;
  const auto follow = [&](const auto& self, ValueId id, bool through_sigmoid) -> void {
    const Node* node = id == no_value ? nullptr : maker[id];
    if (node == nullptr) return;
    if (node->op == "Conv" && through_sigmoid) found.insert(node);
    if (!passing.contains(node->op)) return;
    for (size_t i = 0; i < (node->op == "Concat" ? node->inputs.size() : 1); ++i)
      self(self, node->inputs[i], through_sigmoid || node->op == "Sigmoid");
  };
  for (const Node& node : graph.nodes)
    if (node.op == "NonMaxSuppression") follow(follow, node.inputs[1], false);
  return found;
}

void fill_with(Tensor& tensor, float value) {
  Tensor filled = make_tensor(DataType::f32, tensor.shape);
  std::ranges::fill(writable<float>(filled), value);
  tensor = std::move(filled);
}

void fill_normal_with(Tensor& tensor, float deviation, uint64_t seed, const std::string& name) {
  Tensor filled = make_tensor(DataType::f32, tensor.shape);
  const auto values = writable<float>(filled);
  fill_normal(values, seed, name);
  for (float& value : values) value *= deviation;
  tensor = std::move(filled);
}

void fill_he_normal(Tensor& tensor, int64_t fan_in, uint64_t seed, const std::string& name) {
  fill_normal_with(tensor, static_cast<float>(std::sqrt(2.0 / static_cast<double>(std::max<int64_t>(1, fan_in)))), seed, name);
}

// Returns whether the constant is what tokens or places stand for: rows of a table, a token that every sample gets, or an added table.
bool is_embedding(const Node& node, size_t input, const Shape& shape) {
  if (node.op == "Gather" || node.op == "Expand") return input == 0;
  return node.op == "Add" && std::ranges::count_if(shape, [](int64_t size) { return size > 1; }) > 1;
}

bool is_recurrent(const std::string& op) { return op == "LSTM" || op == "GRU" || op == "RNN"; }

int64_t fan_in_of(const Node& node, const Shape& shape) {
  if (node.op == "Conv") return element_count(shape) / std::max<int64_t>(1, shape[0]);
  if (node.op == "Gemm") return shape[attribute_int(node, "transB", 0) != 0 ? 1 : 0];
  return shape.size() >= 2 ? shape[shape.size() - 2] : shape[0];
}

// One pass over the network that fills what depends on data: the statistics and the classifier's bias.
class Seeding {
 public:
  Seeding(Graph& graph, uint64_t seed) : graph_(graph), seed_(seed), branch_ends_(branch_ends(graph)), score_makers_(score_makers(graph)) {}

  void fill_plain();  // everything that the seed alone decides
  bool measured_needed() const { return !measured_.empty(); }
  void measure();  // the rest, by running the network
  std::map<std::string, Tensor> measured() const;
  bool take_measured(const std::map<std::string, Tensor>& stored);

 private:
  void fill_constant(ValueId id, const Use& use);
  std::vector<Tensor> calibration_inputs() const;
  void set_statistics(const Node& node, const Tensor& x);
  void centre(const Node& node, const Tensor& answers);
  bool is_measured(const Node& node, size_t input) const { return node.inputs.size() > input && measured_.count(node.inputs[input]) != 0; }

  Graph& graph_;
  uint64_t seed_;
  std::set<const Node*> branch_ends_, score_makers_;
  std::set<ValueId> measured_;
};

void Seeding::fill_plain() {
  std::map<ValueId, Use> uses;
  for (const Node& node : graph_.nodes)
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != no_value) uses.try_emplace(node.inputs[i], Use{&node, i});
  for (auto& [id, tensor] : graph_.constants) {
    if (tensor.data) continue;
    if (tensor.type != DataType::f32)
      throw Error(ErrorKind::input,
                  fmt::format("'{}': seeded weights are float32, '{}' is {}", graph_.name, graph_.values[id].name, name_of(tensor.type)));
    if (!uses.contains(id))
      visit_uses(graph_, id, false, [&, at = id](const InputUse& use) { uses.try_emplace(at, Use{&use.node, use.input, true}); });
    fill_constant(id, uses.count(id) ? uses[id] : Use{});
  }
}

void Seeding::fill_constant(ValueId id, const Use& use) {
  Tensor& tensor = graph_.constants[id];
  if (!use.node) return fill_with(tensor, 0.0f);  // nothing reads it
  const std::string& op = use.node->op;
  if (op == decoder_op && use.node->domain == decoder_domain) {
    if (tensor.shape.size() > 1)
      return fill_normal_with(tensor, 1 / std::sqrt(static_cast<float>(tensor.shape.back())), seed_, graph_.values[id].name);
    fill_with(tensor, graph_.values[id].name.ends_with("norm.weight") ? 1.0f : 0.0f);
  } else if (op == "BatchNormalization") {
    fill_with(tensor, use.input == 1 ? (branch_ends_.count(use.node) ? residual_gain : 1.0f) : use.input == 4 ? 1.0f : 0.0f);
    if (use.input >= 3) measured_.insert(id);
  } else if ((op == "Conv" || op == "Gemm" || op == "MatMul") && use.input < 2 && !tensor.shape.empty()) {
    fill_he_normal(tensor, fan_in_of(*use.node, tensor.shape), seed_, graph_.values[id].name);
  } else if (op == "Conv" && score_makers_.count(use.node) != 0) {
    fill_with(tensor, rare_score);
  } else if (is_embedding(*use.node, use.input, tensor.shape)) {
    fill_normal_with(tensor, 1.0f, seed_, graph_.values[id].name);
  } else if (is_recurrent(op) && (use.input == 1 || use.input == 2)) {
    fill_normal_with(tensor, static_cast<float>(1 / std::sqrt(static_cast<double>(tensor.shape.back()))), seed_, graph_.values[id].name);
  } else if (!use.in_body && (op == "Gemm" || op == "Add") && use.input + 1 == use.node->inputs.size() &&
             std::ranges::count(graph_.outputs, use.node->outputs[0]) != 0) {
    fill_with(tensor, 0.0f);
    measured_.insert(id);
  } else {  // gains of other normalisations and factors are 1, what is added is 0
    const bool factor = op == "Mul" || op == "Div" || (op == "LayerNormalization" && use.input == 1);
    fill_with(tensor, factor ? 1.0f : 0.0f);
  }
}

int64_t calibration_batch(const Graph& graph) {
  const Dims dims = graph.inputs.empty() ? Dims{} : graph.values[graph.inputs[0]].dims.value_or(Dims{});
  if (dims.size() != 4) return most_samples;
  return std::clamp(most_pixels / std::max<int64_t>(1, dims[2].size * dims[3].size), least_samples, most_samples);
}

std::vector<Tensor> Seeding::calibration_inputs() const {
  std::vector<Tensor> inputs;
  const auto integers = integer_values(graph_);
  const int64_t batch = calibration_batch(graph_);
  for (ValueId id : graph_.inputs) {
    const Value& value = graph_.values[id];
    Shape shape;
    for (const Dim& dim : value.dims.value_or(Dims{})) {
      if (!dim.known() && dim.symbol != batch_symbol)
        throw Error(ErrorKind::usage,
                    fmt::format("'{}': input '{}' has an open size '{}', give it with --shape", graph_.name, value.name, dim.symbol));
      shape.push_back(dim.known() ? dim.size : dim.size * batch);
    }
    Tensor tensor = make_tensor(value.type, shape);
    if (value.type == DataType::f32 && shape.size() == 4) {
      const int64_t each = element_count(shape) / std::max<int64_t>(1, shape[0]);
      for (int64_t n = 0; n < shape[0]; ++n)
        fill_smooth(writable<float>(tensor).subspan(n * each, each), shape[1], shape[2], shape[3], seed_, calibration_index + n);
    } else if (value.type == DataType::f32) {
      fill_normal(writable<float>(tensor), seed_, "calibration:" + value.name);
    } else if (value.type == DataType::i64) {
      fill_integers(writable<int64_t>(tensor), integers.at(value.name), seed_, "calibration:" + value.name);
    } else {
      std::ranges::fill(writable<std::byte>(tensor).first(tensor.bytes()), std::byte{0});
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Channels that hardly vary over the batch are not blown up: no variance is taken below a hundredth of the layer's mean variance.
void Seeding::set_statistics(const Node& node, const Tensor& x) {
  const int64_t channels = x.shape[1], size = element_count(std::span(x.shape).subspan(2));
  Tensor mean = make_tensor(DataType::f32, {channels}), variance = make_tensor(DataType::f32, {channels});
  const auto values = x.as<float>();
  std::vector<double> spread(channels);
  const double count = static_cast<double>(x.shape[0] * size);
  parallel_for(channels, 2 * count, [&](int64_t c) {
    double sum = 0, squares = 0;
    for (int64_t n = 0; n < x.shape[0]; ++n)
      for (float value : values.subspan((n * channels + c) * size, size)) sum += value;
    const double centre = sum / count;
    for (int64_t n = 0; n < x.shape[0]; ++n)
      for (float value : values.subspan((n * channels + c) * size, size)) squares += (value - centre) * (value - centre);
    writable<float>(mean)[c] = static_cast<float>(centre);
    spread[c] = squares / count;
  });
  double average = 0;
  for (double value : spread) average += value / static_cast<double>(channels);
  for (int64_t c = 0; c < channels; ++c) writable<float>(variance)[c] = static_cast<float>(std::max(spread[c], 0.01 * average));
  if (is_measured(node, 3)) graph_.constants[node.inputs[3]] = mean;
  if (is_measured(node, 4)) graph_.constants[node.inputs[4]] = variance;
}

void Seeding::centre(const Node& node, const Tensor& answers) {
  const int64_t classes = answers.shape.back(), rows = element_count(answers.shape) / std::max<int64_t>(1, classes);
  Tensor& bias = graph_.constants[node.inputs.back()];
  if (element_count(bias.shape) != classes) return;
  Tensor centred = make_tensor(DataType::f32, bias.shape);
  for (int64_t c = 0; c < classes; ++c) {
    double sum = 0;
    for (int64_t n = 0; n < rows; ++n) sum += answers.as<float>()[n * classes + c];
    writable<float>(centred)[c] = static_cast<float>(-sum / static_cast<double>(rows));
  }
  bias = centred;
}

void Seeding::measure() {
  std::vector<Tensor> values(graph_.values.size());
  const std::vector<Tensor> inputs = calibration_inputs();
  for (size_t i = 0; i < inputs.size(); ++i) values[graph_.inputs[i]] = inputs[i];
  const auto readers = consumers(graph_);
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (node.op == "BatchNormalization" && (is_measured(node, 3) || is_measured(node, 4))) set_statistics(node, values[node.inputs[0]]);
    std::vector<Tensor> arguments;
    for (ValueId id : node.inputs) {
      const auto constant = graph_.constants.find(id);
      arguments.push_back(id == no_value ? Tensor{} : constant != graph_.constants.end() ? constant->second : values[id]);
    }
    const std::vector<Tensor> results = evaluate_node(graph_, node, arguments);
    for (size_t k = 0; k < std::min(results.size(), node.outputs.size()); ++k)
      if (node.outputs[k] != no_value) values[node.outputs[k]] = results[k];
    if (node.op != "BatchNormalization" && is_measured(node, node.inputs.size() - 1)) centre(node, results[0]);
    for (ValueId id : node.inputs)
      if (id != no_value && readers[id].back() == i) values[id] = {};
  }
}

std::map<std::string, Tensor> Seeding::measured() const {
  std::map<std::string, Tensor> result;
  for (ValueId id : measured_) result[graph_.values[id].name] = graph_.constants.at(id);
  return result;
}

bool Seeding::take_measured(const std::map<std::string, Tensor>& stored) {
  if (stored.size() != measured_.size()) return false;
  for (ValueId id : measured_) {
    const auto found = stored.find(graph_.values[id].name);
    if (found == stored.end() || found->second.type != DataType::f32 || found->second.shape != graph_.constants[id].shape) return false;
  }
  for (ValueId id : measured_) graph_.constants[id] = stored.at(graph_.values[id].name);
  return true;
}

}  // namespace

void seed_weights(Graph& graph, uint64_t seed, const std::string& cache_dir) {
  const SeededCache cache(cache_dir, graph, seed);
  Seeding seeding(graph, seed);
  seeding.fill_plain();
  if (!seeding.measured_needed() || seeding.take_measured(cache.load())) return;
  seeding.measure();
  cache.store(seeding.measured());
}

}  // namespace deepgap
