// A Model compiled by OpenVINO, once for each batch size. Why once for each: with all shapes known the library plans memory and picks
// kernels at load, and a query does neither; the price is that every size has packed weights of its own.
#pragma once

#include "backends/openvino/ov_settings.h"

#include <deepgap/backend.h>

#include <openvino/runtime/compiled_model.hpp>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// An input or output of the Graph.
struct OvPort {
  std::string name;
  DataType type = DataType::f32;
  std::optional<Dims> dims;

  bool leads_with_batch() const;                    // and has it nowhere else
  std::optional<Shape> shape(int64_t batch) const;  // nullopt when it does not follow from the batch alone
};
std::vector<OvPort> ov_ports(const Graph& graph, const std::vector<ValueId>& ids);
ov::element::Type ov_element(DataType type);

struct OvNetwork {
  int64_t batch = 1;
  std::vector<Shape> inputs;
  std::vector<std::optional<Shape>> outputs;  // nullopt: known only after a run
  ov::CompiledModel compiled;
};

// One for each of options.batch_sizes, smallest first. Throws Error{refused | input | out_of_memory}.
std::vector<OvNetwork> compile_networks(const Model& model, const LoadOptions& options, const OvSettings& settings);

}  // namespace deepgap
