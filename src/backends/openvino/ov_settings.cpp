#include "backends/openvino/ov_settings.h"

#include <openvino/runtime/properties.hpp>

namespace deepgap {
namespace {

OptionTable<OvSettings> make_table() {
  constexpr int64_t most_streams = 1024;
  const std::vector<std::pair<std::string, std::optional<bool>>> auto_switches{{"auto", std::nullopt}, {"off", false}, {"on", true}};
  OptionTable<OvSettings> table("openvino");
  table.choice("hint", "latency: one query on all threads; throughput: several at a time on a few each; none: no hint is given",
               &OvSettings::hint, {{"latency", OvHint::latency}, {"none", OvHint::none}, {"throughput", OvHint::throughput}});
  table
      .count("streams", "queries computed at a time, each on its share of the threads; auto: the hint decides", &OvSettings::streams, 1,
             most_streams)
      .or_auto();
  table.choice("pin", "on: threads stay on CPUs of their own; off: the system places them; auto: the library decides", &OvSettings::pinned,
               auto_switches);
  table.choice("hyper_threading", "on: two threads a core may be used; off: one; auto: the library decides", &OvSettings::hyper_threading,
               auto_switches);
  table.on_off("profile", "on: the time of every layer is taken, which costs some of it", &OvSettings::profiled);
  table.part(&OvSettings::generation, generation_options());
  return table;
}

}  // namespace

const OptionTable<OvSettings>& ov_options() {
  static const OptionTable<OvSettings> table = make_table();
  return table;
}

OvSettings ov_settings(const EngineRequest& request) {
  OvSettings settings = ov_options().parse(request.options);
  settings.threads = request.threads;
  return settings;
}

ov::AnyMap ov_properties(const OvSettings& settings, Precision precision, int slots) {
  // Layers of an int8 file that are not quantized are computed in fp32, whatever the CPU has.
  ov::AnyMap map{ov::hint::inference_precision(precision == Precision::bf16 ? ov::element::bf16 : ov::element::f32),
                 ov::inference_num_threads(settings.threads)};
  if (settings.hint == OvHint::latency) map.insert(ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY));
  if (settings.hint == OvHint::throughput) {
    map.insert(ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT));
    map.insert(ov::hint::num_requests(static_cast<uint32_t>(slots)));  // no more streams than can be kept busy
  }
  if (settings.streams > 0) map.insert(ov::num_streams(settings.streams));
  if (settings.pinned) map.insert(ov::hint::enable_cpu_pinning(*settings.pinned));
  if (settings.hyper_threading) map.insert(ov::hint::enable_hyper_threading(*settings.hyper_threading));
  if (settings.profiled) map.insert(ov::enable_profiling(true));
  return map;
}

}  // namespace deepgap
