#include "model/kernel_work.h"

#include "model/graph_tools.h"

#include <deepgap/batching.h>
#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

namespace deepgap {
namespace {

constexpr size_t no_kernel = SIZE_MAX;

bool is_pointwise(const std::string& op) {
  static const std::set<std::string_view> names{"Add",
                                                "BatchNormalization",
                                                "Cast",
                                                "Clip",
                                                "DequantizeLinear",
                                                "Div",
                                                "Elu",
                                                "Erf",
                                                "Exp",
                                                "Gelu",
                                                "HardSigmoid",
                                                "HardSwish",
                                                "LeakyRelu",
                                                "Mul",
                                                "Neg",
                                                "Pow",
                                                "PRelu",
                                                "QuantizeLinear",
                                                "Relu",
                                                "Sigmoid",
                                                "Softplus",
                                                "Sqrt",
                                                "Sub",
                                                "Tanh",
                                                "Where"};
  return names.contains(op);
}

class Grouping {
 public:
  explicit Grouping(const Graph& graph)
      : graph_(graph), readers_(consumers(graph)), makers_(producers(graph)), kernel_of_(graph.nodes.size(), no_kernel) {
    for (const Node& node : graph_.nodes) counts_.push_back(known_count(graph_, node));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) place(i);
  }

  NetworkWork work() const {
    NetworkWork network;
    network.kernels.resize(members_.size());
    for (size_t i = 0; i < members_.size(); ++i) network.kernels[i] = kernel(i);
    std::erase_if(network.kernels, [](const KernelWork& kernel) { return kernel.activations == 0; });
    for (const KernelWork& kernel : network.kernels) network.weights += kernel.weights;
    for (const ValueId id : graph_.inputs) network.inputs += elements(id);
    network.live_activations = live();
    return network;
  }

 private:
  // A value that is read under another shape is the value itself.
  ValueId seen_through(ValueId id) const {
    while (const auto maker = maker_of(id)) {
      if (!is_view(*maker)) return id;
      id = graph_.nodes[*maker].inputs[0];
    }
    return id;
  }

  // Engines read a transposed value where it lies.
  bool is_view(size_t index) const {
    const Node& node = graph_.nodes[index];
    return !node.inputs.empty() && node.inputs[0] != no_value && (node.op == "Transpose" || counts_[index].bytes == 0);
  }

  std::optional<size_t> maker_of(ValueId id) const { return id == no_value ? std::nullopt : makers_[static_cast<size_t>(id)]; }

  int64_t elements(ValueId id) const { return is_known(graph_, id) ? element_count(known_shape(graph_, id)) : 0; }

  // The kernel that makes this node's input and may go on with it.
  size_t continued(const Node& node) const {
    const bool softmax = node.op == "Softmax", product = node.op == "MatMul";
    if (!is_pointwise(node.op) && !softmax && !product) return no_kernel;
    size_t latest = no_kernel;
    for (const ValueId input : node.inputs) {
      const auto maker = maker_of(seen_through(input));
      if (input == no_value || !maker || readers_[static_cast<size_t>(input)].size() != 1) continue;
      const size_t kernel = kernel_of_[*maker];
      if (kernel == no_kernel || (softmax && !last_is(kernel, "MatMul")) || (product && !last_is(kernel, "Softmax"))) continue;
      if (latest == no_kernel || kernel > latest) latest = kernel;
    }
    return latest;
  }

  bool last_is(size_t kernel, std::string_view op) const {
    for (auto node = members_[kernel].rbegin(); node != members_[kernel].rend(); ++node)
      if (!is_pointwise(graph_.nodes[*node].op) || graph_.nodes[*node].op == op) return graph_.nodes[*node].op == op;
    return false;
  }

  void place(size_t index) {
    if (counts_[index].bytes == 0 || is_view(index)) return;
    size_t kernel = continued(graph_.nodes[index]);
    if (kernel == no_kernel) {
      kernel = members_.size();
      members_.emplace_back();
    }
    members_[kernel].push_back(index);
    kernel_of_[index] = kernel;
  }

  bool inside(size_t kernel, size_t node) const { return kernel_of_[node] == kernel; }

  // Returns whether somebody else reads it, directly or under another shape.
  bool leaves(size_t kernel, ValueId id) const {
    if (std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end()) return true;
    return std::any_of(readers_[static_cast<size_t>(id)].begin(), readers_[static_cast<size_t>(id)].end(), [&](size_t reader) {
      if (kernel_of_[reader] != no_kernel) return !inside(kernel, reader);
      const auto& made = graph_.nodes[reader].outputs;
      return std::any_of(made.begin(), made.end(), [&](ValueId view) { return view != no_value && leaves(kernel, view); });
    });
  }

  KernelWork kernel(size_t index) const {
    KernelWork work;
    work.name = graph_.nodes[members_[index].front()].name;
    std::set<ValueId> read, written;
    for (const size_t node : members_[index]) {
      count_arithmetic(node, work);
      for (const ValueId id : graph_.nodes[node].inputs) {
        const ValueId seen = id == no_value ? id : seen_through(id);
        if (seen != no_value && !(maker_of(seen) && inside(index, *maker_of(seen)))) read.insert(seen);
      }
      for (const ValueId id : graph_.nodes[node].outputs)
        if (id != no_value && leaves(index, id)) written.insert(id);
    }
    for (const ValueId id : read) (graph_.constants.contains(id) ? work.weights : work.activations) += elements(id);
    for (const ValueId id : written) work.activations += elements(id);
    return work;
  }

  void count_arithmetic(size_t index, KernelWork& work) const {
    const Node& node = graph_.nodes[index];
    const int64_t macs = counts_[index].macs;
    if (macs == 0) return;
    work.macs += macs;
    if (const auto kind = arithmetic_kind(graph_, node, counts_[index]); kind != KernelWork::Kind::other) work.kind = kind;
  }

  int64_t live() const {
    std::vector<size_t> last(graph_.values.size(), 0);
    for (size_t kernel = 0; kernel < members_.size(); ++kernel)
      for (const size_t node : members_[kernel])
        for (const ValueId id : graph_.nodes[node].inputs)
          if (id != no_value) last[static_cast<size_t>(seen_through(id))] = kernel;
    int64_t now = 0, most = 0;
    std::vector<int64_t> ends(members_.size() + 1, 0);
    for (size_t kernel = 0; kernel < members_.size(); ++kernel) {
      for (const size_t node : members_[kernel])
        for (const ValueId id : graph_.nodes[node].outputs)
          if (id != no_value && leaves(kernel, id)) {
            now += elements(id);
            ends[std::max(kernel, last[static_cast<size_t>(id)])] += elements(id);
          }
      most = std::max(most, now);
      now -= ends[kernel];
    }
    return most;
  }

  const Graph& graph_;
  std::vector<std::vector<size_t>> readers_;   // by value
  std::vector<std::optional<size_t>> makers_;  // by value
  std::vector<NodeCount> counts_;              // by node
  std::vector<size_t> kernel_of_;              // by node
  std::vector<std::vector<size_t>> members_;   // by kernel
};

}  // namespace

KernelWork::Kind arithmetic_kind(const Graph& bound, const Node& node, const NodeCount& count) {
  if (count.macs == 0) return KernelWork::Kind::other;
  if (node.op.find("Conv") == std::string::npos) return KernelWork::Kind::product;
  const Shape weights = known_shape(bound, node.inputs[node.op == "QLinearConv" ? 3 : 1]);
  return weights.size() > 1 && weights[1] > 1 ? KernelWork::Kind::convolution : KernelWork::Kind::other;
}

void require_closed_sizes(const Graph& graph) {
  for (const auto& [symbol, place] : open_symbols(graph))
    if (symbol != batch_symbol) throw Error(ErrorKind::usage, fmt::format("{} ('{}') is open; give its size with --shape", place, symbol));
}

NetworkWork network_work(const Graph& graph) {
  require_closed_sizes(graph);
  const Graph bound = bind_symbols(graph, {{batch_symbol, 1}});
  NetworkWork work = Grouping(bound).work();
  const int64_t items = batching_of(graph).samples;
  work.inputs /= items;
  work.live_activations /= items;
  for (KernelWork& kernel : work.kernels) kernel.macs /= items, kernel.activations /= items;
  return work;
}

}  // namespace deepgap
