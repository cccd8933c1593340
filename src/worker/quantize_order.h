// One request to quantize a Model, for `deepgap quantize` and `deepgap check`. Served in a child process of its own, since it opens models
// and runs an engine.
#pragma once

#include "model/model_source.h"
#include "quantize/settings.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

struct QuantizeOrder {
  ModelRequest model;
  QuantizeSettings settings;
  std::string point_dataset = "seeded";  // what settings.dataset "auto" falls back to
  int threads = 1;
  std::string output;      // ONNX file to write; empty: keep it in the cache, unless it is there
  std::string table;       // read instead of calibrating; empty: calibrate
  std::string save_table;  // where the table goes; empty: nowhere
};
nlohmann::json quantize_order_to_json(const QuantizeOrder& order);
QuantizeOrder quantize_order_from_json(const nlohmann::json& json);

// Quantizes and writes. The report: {"model", "method", "dataset", "calibrated_by", "quantized_nodes", "kept": [{"name","op","reason"}],
// "nodes": [{"name","op","sqnr_db"}] (for keep=auto), "mac_share", "output_sqnr_db" (null where outputs were not asked), "seconds"}, or
// {"cached": true} where it was in the cache. A Model that is quantized already: {"given": true} for the cache, Error{input} with an
// output. Throws Error.
nlohmann::json carry_out(const QuantizeOrder& order);

}  // namespace deepgap
