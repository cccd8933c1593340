#include "mlperf/endpoints/point.h"

#include "analysis/steady.h"
#include "base/text.h"
#include "mlperf/submission/runs.h"
#include "record/point_command.h"
#include "record/point_option.h"
#include "record/record_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace deepgap {
namespace {

using Json = nlohmann::ordered_json;

// The spelling that the checker calls canonical: the last part of a path, '_' for all but letters, digits, '_' and '-'.
std::string canonical(const std::string& model) {
  std::string name;
  for (const char c : std::filesystem::path(model).filename().string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
    if (plain) name += c;
    if (!plain && !name.ends_with('_')) name += '_';
  }
  return name.substr(0, 64);
}

// deepgap draws samples, and pauses of clients if there are any, from one seed.
Json seeds_of(const Point& point) {
  Json seeds = Json::object();
  if (const auto seed = parse_int(option_of(point, "seed", "1"))) {
    seeds["scheduler_rng_seed"] = *seed;
    seeds["sample_index_rng_seed"] = *seed;
  }
  const std::string sampling = option_of(point, point.backend + ".sampling_seed", option_of(point, "sampling_seed"));
  if (const auto seed = parse_int(sampling)) seeds["model_seed"] = *seed;
  return seeds;
}

Json settings_of(const Record& record) {
  Json settings;
  settings["load_pattern"] = "concurrency";
  settings["min_duration_ms"] = record.stopping.duration.value_or(0) / 1'000'000;
  if (record.stopping.iterations) settings["min_sample_count"] = *record.stopping.iterations;
  settings["stream_all_chunks"] = true;
  settings["runtime"] = seeds_of(record.point);
  return settings;
}

Json warmup_of(const Record& record, int64_t clients) {
  const int64_t requests = record.warmup_queries;
  Json warmup;
  warmup["duration_s"] = requests == 0 ? 0.0 : window_seconds(record, "warm_up").value_or(0);
  warmup["requests_issued"] = requests;
  warmup["requests_completed"] = requests;
  warmup["data_source"] = requests == 0 ? "none; there was no warm-up" : "the same source of prompts as the measured window";
  warmup["concurrency"] = requests == 0 ? 0 : clients;
  if (requests > 0) warmup["logs_retained"] = false;
  return warmup;
}

}  // namespace

Json endpoints_point(const EndpointsPoint& point, int64_t clients) {
  Json json;
  json["concurrency"] = clients;
  json["runtime_settings"] = settings_of(point.record);
  json["warmup"] = warmup_of(point.record, clients);
  // Neither status nor verdict: those are of MLPerf's detector of steady states, which counts passes over its data set.
  json["steady_state"]["window"] = {{"n_samples", point.summary.requests}, {"duration_s", point.summary.issue_span_s}};
  return json;
}

Json endpoints_point_names(const EndpointsPoint& point) {
  const Record& record = point.record;
  const std::string dataset = record.point.dataset;
  Json json;
  json["model_name"] = canonical(record.point.model);
  json["dataset"] = std::filesystem::path(dataset).filename().string();
  json["dataset_name"] = record.dataset_description.empty() ? dataset : record.dataset_description;
  json["dataset_type"] = "Performance";
  json["shared_src"] = "src/deepgap";
  json["shared_docs"] = "docs";
  return json;
}

Json endpoints_config(const Record& record) {
  Json json;
  json["tool"] = "deepgap " + mlperf_fact(record, "deepgap.version");
  json["command"] = run_command_of(record.point);
  json["point"] = point_to_json(record.point);
  json["stopping_rule"] = record.stopping.name;
  return json;
}

}  // namespace deepgap
