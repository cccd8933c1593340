#include "backends/kserve/output_check.h"

#include "backends/kserve/served_model.h"
#include "base/text.h"
#include "base/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace deepgap {
namespace {

bool fits(const Port& port, std::span<const int64_t> shape, int64_t batch) {
  if (!port.dims) return true;
  if (port.dims->size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim& dim = (*port.dims)[i];
    if (dim.known() ? dim.size != shape[i] : dim.symbol == batch_symbol && dim.size * batch != shape[i]) return false;
  }
  return true;
}

std::string wanted_text(const Port& port, int64_t batch) {
  Shape shape;
  for (const Dim& dim : *port.dims) shape.push_back(dim.known() ? dim.size : dim.symbol == batch_symbol ? dim.size * batch : -1);
  return shape_text(shape);
}

}  // namespace

RequestError wrong_answer(const std::string& what) { return {RequestError::Kind::answer, printable(what)}; }

std::string shape_text(std::span<const int64_t> shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return "[" + join(sizes, ",") + "]";
}

bool possible_shape(std::span<const int64_t> shape) {
  constexpr int64_t most = int64_t{1} << 40;
  constexpr size_t most_sizes = 16;
  if (shape.size() > most_sizes) return false;
  int64_t elements = 1;
  for (const int64_t size : shape)
    if (size < 0 || size > most || (elements *= std::max<int64_t>(size, 1)) > most) return false;
  return true;
}

std::optional<RequestError> check_output(const Port& port, std::span<const int64_t> shape, std::string_view datatype, int64_t batch) {
  if (element_count(shape) == 0) return wrong_answer(fmt::format("output '{}' is empty, of shape {}", port.name, shape_text(shape)));
  if (!fits(port, shape, batch))
    return wrong_answer(fmt::format("output '{}' has the shape {}; expected {}", port.name, shape_text(shape), wanted_text(port, batch)));
  const std::string_view type = datatype_name(port.type);
  if (datatype.empty() || datatype == type) return std::nullopt;
  if (!is_datatype(datatype)) return wrong_answer(fmt::format("output '{}' has a datatype that is not one of KServe v2", port.name));
  return wrong_answer(fmt::format("output '{}' is {}, but the metadata says {}", port.name, datatype, type));
}

}  // namespace deepgap
