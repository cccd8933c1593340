// Parts in JSON that several requests to child processes have.
#pragma once

#include "model/model_source.h"
#include "quantize/settings.h"
#include "record/json_text.h"
#include "worker/sample_outputs.h"

namespace deepgap {

template <>
struct JsonForm<QuantizeSettings> {
  static nlohmann::json json(const QuantizeSettings& settings) { return quantize_options().values(settings); }
  static void read(const nlohmann::json& json, const JsonPlace& place, QuantizeSettings& settings) {
    EngineOptions options;
    read_json(json, place, options);
    settings = quantize_options().parse(options, "--");
  }
};

template <typename V>
void fields(V& visit, ModelRequest& request) {
  visit("name", request.name);
  visit("weights", request.weights);
  visit("seed", request.seed);
  visit("shapes", request.shapes);
  visit("test_set", request.test_set);
  visit("cache_dir", request.cache_dir);
  visit("data_dir", request.data_dir);
  visit("task", request.task);
  visit("numbers", request.numbers);
}

template <typename V>
void fields(V& visit, OutputsRequest& request) {
  visit("model", request.model);
  visit("backend", request.backend);
  visit("checked", request.checked);
  visit("device", request.device);
  visit("precision", request.precision);
  visit("precision_of_file", request.precision_of_file);
  visit("dataset", request.dataset);
  visit("samples", request.samples);
  visit("threads", request.threads);
  visit("cache_dir", request.cache_dir);
  visit("options", request.options);
  visit("quantize", request.quantize);
}

}  // namespace deepgap
