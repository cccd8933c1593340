// Inputs and outputs of a Graph as a plug-in meets them: by name, with shapes that follow from the batch.
#pragma once

#include <deepgap/graph.h>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct Port {
  std::string name;
  DataType type = DataType::f32;
  std::optional<Dims> dims;

  bool leads_with_batch() const;                    // and has it nowhere else
  std::optional<Shape> shape(int64_t batch) const;  // nullopt when it does not follow from the batch alone
};

std::vector<Port> ports(const Graph& graph, const std::vector<ValueId>& ids);  // those left out (no_value) are skipped

std::vector<std::string> names_of(const std::vector<Port>& ports);

size_t bytes_of(DataType type, const Shape& shape);

// Shapes of all inputs at a batch size. Throws Error{refused}, beginning with the engine's name, where an input's shape is open or fixed to
// another batch.
std::vector<Shape> input_shapes(const std::string& engine, const std::string& model, const std::vector<Port>& inputs, int64_t batch);

}  // namespace deepgap
