#include "backends/openvino/ov_settings.h"

#include "backends/common/option_choice.h"

#include <fmt/format.h>
#include <openvino/runtime/properties.hpp>

namespace deepgap {
namespace {

template <typename T>
using Choices = std::map<std::string, T>;

const Choices<OvHint> hints{{"latency", OvHint::latency}, {"none", OvHint::none}, {"throughput", OvHint::throughput}};
const Choices<bool> switches{{"off", false}, {"on", true}};
const Choices<std::optional<bool>> auto_switches{{"auto", std::nullopt}, {"off", false}, {"on", true}};

}  // namespace

std::vector<OptionInfo> ov_option_infos() {
  return {
      {"hint", "latency: one query on all threads; throughput: several at a time on a few each; none: no hint is given", "latency", false},
      {"streams", "queries computed at a time, each on its share of the threads; auto: the hint decides", "auto", false},
      {"pin", "on: threads stay on CPUs of their own; off: the system places them; auto: the library decides", "auto", false},
      {"hyper_threading", "on: two threads a core may be used; off: one; auto: the library decides", "auto", false},
      {"profile", "on: the time of every layer is taken, which costs some of it", "off", false},
  };
}

OvSettings parse_ov_settings(const BackendOptions& options, int threads) {
  const auto choice = [&](const std::string& name, const auto& choices, const auto& fallback) {
    return option_choice("openvino", options, name, choices, fallback);
  };
  OvSettings settings;
  settings.threads = threads;
  settings.hint = choice("hint", hints, settings.hint);
  settings.streams = option_count("openvino", options, "streams", 0, true);
  settings.pinned = choice("pin", auto_switches, settings.pinned);
  settings.hyper_threading = choice("hyper_threading", auto_switches, settings.hyper_threading);
  settings.profiled = choice("profile", switches, settings.profiled);
  if (threads < 1) throw Error(ErrorKind::usage, fmt::format("openvino: threads={} is wrong, expected 1 or more", threads));
  return settings;
}

ov::AnyMap ov_properties(const OvSettings& settings, const std::string& precision, int slots) {
  // What is not quantized in an int8 file is computed in fp32, whatever the CPU has.
  ov::AnyMap map{ov::hint::inference_precision(precision == "bf16" ? ov::element::bf16 : ov::element::f32),
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
