// A Loop that data end: its body is a plan of its own, which the step runs until the condition is false.
#include "engine/cpu/executable.h"
#include "engine/cpu/operators.h"
#include "engine/passes/loops.h"
#include "model/control_flow.h"
#include "model/graph_tools.h"
#include "model/node_body.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>

namespace deepgap {
namespace {

// Runs the body. What is carried lies in turns in two places: the body reads one and writes the other.
class LoopRunner {
 public:
  LoopRunner(const Node& node, CpuPlan plan, const dnnl::engine& engine)
      : node_(node),
        has_limit_(node.inputs[0] != no_value),
        has_condition_(node.inputs[1] != no_value),
        executable_(std::move(plan), engine),
        stream_(engine) {
    arena_.reserve(executable_.arena_bytes());
    executable_.bind(arena_);
    const Graph& body = loop_body(node);
    for (size_t i = 0; i < carried_by(node); ++i) {
      const ValueId id = body.outputs[1 + i];
      bytes_.push_back(static_cast<size_t>(element_count(known_shape(body, id))) * byte_size(body.values[static_cast<size_t>(id)].type));
      if (i < node.outputs.size() && node.outputs[i] != no_value) results_.push_back(i);
    }
    node_.attributes.clear();  // the plan has what it needs of the body
    for (auto& place : carried_)
      for (const size_t bytes : bytes_) place.push_back(make_tensor(DataType::u8, {static_cast<int64_t>(bytes)}));
  }

  // Addresses: limit and condition where the node has them, what is carried, what else the body reads; then the results.
  void run(std::span<std::byte* const> at) {
    size_t next = 0;
    const int64_t limit = has_limit_ ? read<int64_t>(at[next++]) : std::numeric_limits<int64_t>::max();
    goes_on_ = has_condition_ ? read<uint8_t>(at[next++]) : 1;
    inputs_.assign({reinterpret_cast<const std::byte*>(&iteration_), reinterpret_cast<const std::byte*>(&yes_)});
    const size_t first_result = at.size() - results_.size();
    inputs_.insert(inputs_.end(), at.begin() + static_cast<std::ptrdiff_t>(next), at.begin() + static_cast<std::ptrdiff_t>(first_result));
    for (iteration_ = 0; goes_on_ != 0 && iteration_ < limit; ++iteration_) {
      if (iteration_ == most_iterations) fail_node(node_, fmt::format("it has not ended after {} iterations", most_iterations));
      run_body(carried_[static_cast<size_t>(iteration_ % 2)]);
    }
    for (size_t k = 0; k < results_.size(); ++k)
      std::copy_n(inputs_[first_carried + results_[k]], bytes_[results_[k]], at[first_result + k]);
  }

 private:
  static constexpr size_t first_carried = 2;

  template <typename T>
  static T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }

  void run_body(std::vector<Tensor>& to) {
    outputs_.assign({reinterpret_cast<std::byte*>(&goes_on_)});
    for (Tensor& tensor : to) outputs_.push_back(writable<std::byte>(tensor).data());
    executable_.run(stream_, inputs_, outputs_);
    for (size_t i = 0; i < bytes_.size(); ++i) inputs_[first_carried + i] = outputs_[1 + i];
  }

  Node node_;
  bool has_limit_, has_condition_;
  Executable executable_;
  dnnl::stream stream_;
  Arena arena_;
  std::vector<size_t> bytes_;    // sizes of the values that are carried
  std::vector<size_t> results_;  // positions of those that the node returns
  std::array<std::vector<Tensor>, 2> carried_;
  int64_t iteration_ = 0;
  uint8_t goes_on_ = 1, yes_ = 1;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
};

}  // namespace

bool lower_loop(Lowering& lowering, const Operation& operation) {
  const Node& node = *operation.node;
  if (!keeps_sizes(node))
    throw Error(ErrorKind::refused, fmt::format("native does not run operator Loop whose values change their sizes (node {})", node.name));
  CpuPlan plan = lowering.lower_body(loop_body(node));
  std::vector<BufferId> reads, writes;
  for (ValueId id : node.inputs)
    if (id != no_value) reads.push_back(lowering.read(0, id, lowering.plain(id)).buffer);
  for (ValueId id : node.outputs)
    if (id != no_value) writes.push_back(lowering.write(0, id, lowering.plain(id)).buffer);
  auto runner = std::make_shared<LoopRunner>(node, std::move(plan), lowering.engine());
  lowering.step(
      operation, [runner = std::move(runner)](std::span<std::byte* const> at) { runner->run(at); }, std::move(reads), std::move(writes));
  return true;
}

}  // namespace deepgap
