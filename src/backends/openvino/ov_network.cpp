#include "backends/openvino/ov_network.h"

#include "backends/openvino/ov_failure.h"
#include "backends/openvino/ov_library.h"

#include <fmt/format.h>
#include <openvino/core/model.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <set>

namespace deepgap {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::refused, "openvino: " + message); }

std::shared_ptr<ov::Model> read(const Model& model) {
  // Protobuf cannot hold more in one message; a file may keep its weights beside it.
  constexpr int64_t protobuf_limit = (int64_t{1} << 31) - (int64_t{16} << 20);
  if (model.summary().weight_bytes > protobuf_limit && !model.file().empty()) return ov_core().read_model(model.file());
  const std::span<const std::byte> bytes = model.onnx();
  return ov_core().read_model(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), ov::Tensor{});
}

ov::PartialShape partial_shape(const Shape& shape) {
  ov::PartialShape sizes;
  for (const int64_t size : shape) sizes.push_back(size);
  return sizes;
}

// The library drops an input that nothing reads from a model that comes from memory: inputs are found by name. One that is an output as
// well may have that one's name alone; where none is dropped, they are in the file's order.
std::vector<std::optional<size_t>> parameters_of(const ov::Model& network, const std::vector<Port>& inputs) {
  std::map<std::string, size_t> positions;
  for (size_t i = 0; i < network.inputs().size(); ++i) {
    for (const std::string& name : network.input(i).get_names()) positions.emplace(name, i);
  }
  const bool all_there = network.inputs().size() == inputs.size();
  std::vector<std::optional<size_t>> found;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto position = positions.find(inputs[i].name);
    if (position != positions.end()) {
      found.emplace_back(position->second);
    } else {
      found.push_back(all_there ? std::optional(i) : std::nullopt);
    }
  }
  return found;
}

void reshape(ov::Model& model, const OvNetwork& network) {
  std::map<size_t, ov::PartialShape> wanted;
  for (size_t i = 0; i < network.inputs.size(); ++i) {
    if (!network.parameters[i]) continue;
    const ov::PartialShape shape = partial_shape(network.inputs[i]);
    if (model.input(*network.parameters[i]).get_partial_shape() != shape) wanted.emplace(*network.parameters[i], shape);
  }
  if (!wanted.empty()) model.reshape(wanted);
}

// Every parameter of the library is an input of the model, and its outputs are in the model's order: or nothing can be trusted.
void match(const ov::Model& network, const std::vector<Port>& inputs, const std::vector<std::optional<size_t>>& parameters,
           const std::vector<Port>& outputs) {
  const auto found =
      static_cast<size_t>(std::count_if(parameters.begin(), parameters.end(), [](const auto& at) { return at.has_value(); }));
  if (network.inputs().size() != found || network.outputs().size() != outputs.size()) {
    refuse(fmt::format("it reads {} inputs and {} outputs, the model has {} and {}", network.inputs().size(), network.outputs().size(),
                       inputs.size(), outputs.size()));
  }
  const auto check = [](const char* kind, const Port& port, const ov::element::Type& type) {
    if (type != ov_element(port.type)) {
      refuse(fmt::format("{} '{}' is {} there, not {}", kind, port.name, type.get_type_name(), name_of(port.type)));
    }
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (parameters[i]) check("input", inputs[i], network.input(*parameters[i]).get_element_type());
  }
  for (size_t i = 0; i < outputs.size(); ++i) check("output", outputs[i], network.output(i).get_element_type());
}

// If the library understands an operator otherwise than the file means it, the shapes differ: pooling windows that begin in the padding
// behind an image are one too many there when sizes are rounded up. Such a network is refused, naming the first such node.
void compare_shapes(const ov::Model& network, const Graph& graph, int64_t batch) {
  std::map<std::string, ov::PartialShape> theirs;
  for (const auto& op : network.get_ops()) {
    for (const auto& output : op->outputs()) {
      for (const std::string& name : output.get_names()) theirs.emplace(name, output.get_partial_shape());
    }
  }
  for (const Node& node : graph.nodes) {
    for (const Port& port : ports(graph, node.outputs)) {
      const auto shape = port.shape(batch);
      const auto found = theirs.find(port.name);
      if (!shape || found == theirs.end() || found->second.compatible(partial_shape(*shape))) continue;
      refuse(fmt::format("operator '{}' (node '{}') makes shape {} there, not {}", node.op, node.name, found->second.to_string(),
                         partial_shape(*shape).to_string()));
    }
  }
}

bool outputs_fit(const ov::Model& network, const std::vector<Port>& outputs, int64_t batch) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto shape = outputs[i].shape(batch);
    if (shape && !network.output(i).get_partial_shape().compatible(partial_shape(*shape))) return false;
  }
  return true;
}

// The library does not write an output that is an input into the tensor that it was given for it: that one is asked for after the run, like
// those of which only the run knows the shape.
bool is_input(const ov::Model& network, size_t output) {
  return ov::is_type<ov::op::v0::Parameter>(network.get_results()[output]->get_input_node_ptr(0));
}

std::vector<std::optional<Shape>> output_shapes(const ov::CompiledModel& compiled, const ov::Model& network) {
  std::vector<std::optional<Shape>> shapes;
  for (const auto& output : compiled.outputs()) {
    const ov::PartialShape& partial = output.get_partial_shape();
    if (partial.is_dynamic() || is_input(network, shapes.size())) {
      shapes.emplace_back(std::nullopt);
    } else {
      const ov::Shape sizes = partial.to_shape();
      shapes.emplace_back(Shape(sizes.begin(), sizes.end()));
    }
  }
  return shapes;
}

}  // namespace

ov::element::Type ov_element(DataType type) {
  using ov::element::Type_t;
  constexpr std::array<Type_t, 13> types{Type_t::f32, Type_t::f64, Type_t::f16, Type_t::bf16, Type_t::i8,  Type_t::i16,    Type_t::i32,
                                         Type_t::i64, Type_t::u8,  Type_t::u16, Type_t::u32,  Type_t::u64, Type_t::boolean};
  return types[static_cast<size_t>(type)];
}

std::vector<OvNetwork> compile_networks(const Model& model, const LoadOptions& options, const OvSettings& settings) {
  const std::vector<Port> inputs = ports(model.graph(), model.graph().inputs), outputs = ports(model.graph(), model.graph().outputs);
  const ov::AnyMap properties = ov_properties(settings, options.precision, options.slots);
  const std::set<int64_t> batches(options.batch_sizes.begin(), options.batch_sizes.end());
  std::vector<OvNetwork> networks;
  for (const int64_t batch : batches) networks.push_back({batch, input_shapes("openvino", model.name(), inputs, batch), {}, {}, {}});
  try {
    const std::shared_ptr<ov::Model> original = read(model);
    const auto parameters = parameters_of(*original, inputs);
    match(*original, inputs, parameters, outputs);
    for (OvNetwork& network : networks) {
      network.parameters = parameters;
      const auto copy = original->clone();  // shares the weights
      reshape(*copy, network);
      if (!outputs_fit(*copy, outputs, network.batch)) {
        compare_shapes(*copy, model.graph(), network.batch);
        refuse(fmt::format("an output of {} has another shape there", model.name()));
      }
      network.compiled = ov_core().compile_model(copy, "CPU", properties);
      network.outputs = output_shapes(network.compiled, *copy);
    }
  } catch (const ov::Exception& failure) {
    throw ov_load_error(failure.what(), model.graph());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("openvino is out of memory loading {}", model.name()));
  }
  return networks;
}

}  // namespace deepgap
