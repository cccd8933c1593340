#include "backends/common/port.h"

#include <deepgap/batching.h>
#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

bool Port::leads_with_batch() const {
  if (!dims || dims->empty() || dims->front().symbol != batch_symbol) return false;
  return std::all_of(dims->begin() + 1, dims->end(), [](const Dim& dim) { return dim.symbol != batch_symbol; });
}

std::optional<Shape> Port::shape(int64_t batch) const {
  if (!dims) return std::nullopt;
  Shape sizes;
  for (const Dim& dim : *dims) {
    if (!dim.known() && dim.symbol != batch_symbol) return std::nullopt;
    sizes.push_back(dim.known() ? dim.size : dim.size * batch);
  }
  return sizes;
}

std::vector<Port> ports(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Port> found;
  for (const ValueId id : ids) {
    if (id == no_value) continue;
    const Value& value = graph.values[static_cast<size_t>(id)];
    found.push_back({value.name, value.type, value.dims});
  }
  return found;
}

std::vector<std::string> names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

size_t bytes_of(DataType type, const Shape& shape) { return TensorView{type, shape, nullptr}.bytes(); }

std::vector<Shape> input_shapes(const std::string& engine, const std::string& model, const std::vector<Port>& inputs, int64_t batch) {
  std::vector<Shape> shapes;
  if (const Batching batching = batching_of(inputs); !batching.takes(batch)) {
    throw Error(ErrorKind::refused, fmt::format("{}: {} {}, not {}", engine, model, batching_text(batching), batch));
  }
  for (const Port& port : inputs) {
    const auto shape = port.shape(batch);
    if (!shape) {
      throw Error(ErrorKind::refused,
                  fmt::format("{}: the shape of input '{}' of {} is open; give it with --shape", engine, port.name, model));
    }
    shapes.push_back(*shape);
  }
  return shapes;
}

}  // namespace deepgap
