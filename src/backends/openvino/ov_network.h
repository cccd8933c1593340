// A Model compiled by OpenVINO, once for each batch size. Why once for each: with all shapes known the library plans memory and picks
// kernels at load, and a query does neither; the price is that every size has packed weights of its own.
#pragma once

#include "backends/common/port.h"
#include "backends/openvino/ov_settings.h"

#include <deepgap/backend.h>

#include <openvino/runtime/compiled_model.hpp>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

ov::element::Type ov_element(DataType type);

struct OvNetwork {
  int64_t batch = 1;
  std::vector<Shape> inputs;
  std::vector<std::optional<size_t>> parameters;  // where the library has each input; nullopt: nowhere, since nothing reads it
  std::vector<std::optional<Shape>> outputs;      // nullopt: asked for after the run
  ov::CompiledModel compiled;
};

// One for each of options.batch_sizes, smallest first. Throws Error{refused | input | out_of_memory}.
std::vector<OvNetwork> compile_networks(const Model& model, const LoadOptions& options, const OvSettings& settings);

}  // namespace deepgap
