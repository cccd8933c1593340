#include "backends/openvino/ov_network.h"

#include "backends/openvino/ov_failure.h"
#include "backends/openvino/ov_library.h"

#include <fmt/format.h>
#include <openvino/core/model.hpp>

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

// Shapes of all inputs at a batch size.
std::vector<Shape> input_shapes(const Model& model, const std::vector<OvPort>& ports, int64_t batch) {
  std::vector<Shape> shapes;
  for (const OvPort& port : ports) {
    const auto shape = port.shape(batch);
    if (!shape) refuse(fmt::format("the shape of input '{}' of {} is open; give it with --shape", port.name, model.name()));
    const bool fixed = port.dims->empty() || port.dims->front().known();
    if (fixed && batch > 1 && (shape->empty() || shape->front() != batch)) {
      refuse(fmt::format("input '{}' of {} has a fixed shape, which does not take batch {}", port.name, model.name(), batch));
    }
    shapes.push_back(*shape);
  }
  return shapes;
}

ov::PartialShape partial_shape(const Shape& shape) {
  ov::PartialShape sizes;
  for (const int64_t size : shape) sizes.push_back(size);
  return sizes;
}

void reshape(ov::Model& model, const std::vector<Shape>& shapes) {
  std::map<size_t, ov::PartialShape> wanted;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ov::PartialShape shape = partial_shape(shapes[i]);
    if (model.input(i).get_partial_shape() != shape) wanted.emplace(i, shape);
  }
  if (!wanted.empty()) model.reshape(wanted);
}

// Ports go by position in the file: the same on both sides, or nothing can be trusted.
void match(const ov::Model& network, const std::vector<OvPort>& inputs, const std::vector<OvPort>& outputs) {
  if (network.inputs().size() != inputs.size() || network.outputs().size() != outputs.size()) {
    refuse(fmt::format("it reads {} inputs and {} outputs, the model has {} and {}", network.inputs().size(), network.outputs().size(),
                       inputs.size(), outputs.size()));
  }
  const auto check = [](const char* kind, const OvPort& port, const ov::element::Type& type) {
    if (type != ov_element(port.type)) {
      refuse(fmt::format("{} '{}' is {} there, not {}", kind, port.name, type.get_type_name(), name_of(port.type)));
    }
  };
  for (size_t i = 0; i < inputs.size(); ++i) check("input", inputs[i], network.input(i).get_element_type());
  for (size_t i = 0; i < outputs.size(); ++i) check("output", outputs[i], network.output(i).get_element_type());
}

// Where the library understands an operator otherwise than the file means it, the shapes tell: pooling windows that begin in the padding
// behind a picture are one too many there when sizes are rounded up. Refused, naming the first such node.
void compare_shapes(const ov::Model& network, const Graph& graph, int64_t batch) {
  std::map<std::string, ov::PartialShape> theirs;
  for (const auto& op : network.get_ops()) {
    for (const auto& output : op->outputs()) {
      for (const std::string& name : output.get_names()) theirs.emplace(name, output.get_partial_shape());
    }
  }
  for (const Node& node : graph.nodes) {
    for (const OvPort& port : ov_ports(graph, node.outputs)) {
      const auto shape = port.shape(batch);
      const auto found = theirs.find(port.name);
      if (!shape || found == theirs.end() || found->second.compatible(partial_shape(*shape))) continue;
      refuse(fmt::format("operator '{}' (node '{}') makes shape {} there, not {}", node.op, node.name, found->second.to_string(),
                         partial_shape(*shape).to_string()));
    }
  }
}

bool outputs_fit(const ov::Model& network, const std::vector<OvPort>& outputs, int64_t batch) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto shape = outputs[i].shape(batch);
    if (shape && !network.output(i).get_partial_shape().compatible(partial_shape(*shape))) return false;
  }
  return true;
}

std::vector<std::optional<Shape>> output_shapes(const ov::CompiledModel& compiled) {
  std::vector<std::optional<Shape>> shapes;
  for (const auto& output : compiled.outputs()) {
    const ov::PartialShape& partial = output.get_partial_shape();
    if (partial.is_dynamic()) {
      shapes.emplace_back(std::nullopt);
    } else {
      const ov::Shape sizes = partial.to_shape();
      shapes.emplace_back(Shape(sizes.begin(), sizes.end()));
    }
  }
  return shapes;
}

}  // namespace

bool OvPort::leads_with_batch() const {
  if (!dims || dims->empty() || dims->front().symbol != batch_symbol) return false;
  return std::all_of(dims->begin() + 1, dims->end(), [](const Dim& dim) { return dim.symbol != batch_symbol; });
}

std::optional<Shape> OvPort::shape(int64_t batch) const {
  if (!dims) return std::nullopt;
  Shape sizes;
  for (const Dim& dim : *dims) {
    if (!dim.known() && dim.symbol != batch_symbol) return std::nullopt;
    sizes.push_back(dim.known() ? dim.size : dim.size * batch);
  }
  return sizes;
}

std::vector<OvPort> ov_ports(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<OvPort> ports;
  for (const ValueId id : ids) {
    if (id == no_value) continue;
    const Value& value = graph.values[static_cast<size_t>(id)];
    ports.push_back({value.name, value.type, value.dims});
  }
  return ports;
}

ov::element::Type ov_element(DataType type) {
  using ov::element::Type_t;
  constexpr std::array<Type_t, 13> types{Type_t::f32, Type_t::f64, Type_t::f16, Type_t::bf16, Type_t::i8,  Type_t::i16,    Type_t::i32,
                                         Type_t::i64, Type_t::u8,  Type_t::u16, Type_t::u32,  Type_t::u64, Type_t::boolean};
  return types[static_cast<size_t>(type)];
}

std::vector<OvNetwork> compile_networks(const Model& model, const LoadOptions& options, const OvSettings& settings) {
  const auto inputs = ov_ports(model.graph(), model.graph().inputs), outputs = ov_ports(model.graph(), model.graph().outputs);
  const ov::AnyMap properties = ov_properties(settings, options.precision, options.slots);
  const std::set<int64_t> batches(options.batch_sizes.begin(), options.batch_sizes.end());
  std::vector<OvNetwork> networks;
  for (const int64_t batch : batches) networks.push_back({batch, input_shapes(model, inputs, batch), {}, {}});
  try {
    const std::shared_ptr<ov::Model> original = read(model);
    match(*original, inputs, outputs);
    for (OvNetwork& network : networks) {
      const auto copy = original->clone();  // shares the weights
      reshape(*copy, network.inputs);
      if (!outputs_fit(*copy, outputs, network.batch)) {
        compare_shapes(*copy, model.graph(), network.batch);
        refuse(fmt::format("an output of {} has another shape there", model.name()));
      }
      network.compiled = ov_core().compile_model(copy, "CPU", properties);
      network.outputs = output_shapes(network.compiled);
    }
  } catch (const ov::Exception& failure) {
    throw ov_load_error(failure.what(), model.graph());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("openvino is out of memory loading {}", model.name()));
  }
  return networks;
}

}  // namespace deepgap
