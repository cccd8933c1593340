#include "backends/onnxruntime/ort_settings.h"

#include "backends/common/option_choice.h"
#include "base/text.h"

#include <fmt/format.h>
#include <sched.h>

namespace deepgap {
namespace {

const std::map<std::string, int> execution_modes{{"sequential", ort_sequential}, {"parallel", ort_parallel}};
const std::map<std::string, int> optimizations{{"disabled", ort_disable_all},
                                               {"basic", ort_enable_basic},
                                               {"extended", ort_enable_extended},
                                               {"layout", ort_enable_layout},
                                               {"all", ort_enable_all}};
const std::map<std::string, bool> switches{{"off", false}, {"on", true}};
const std::map<std::string, std::optional<OrtProvider>> providers{{"auto", std::nullopt},
                                                                  {"cpu", OrtProvider::cpu},
                                                                  {"cuda", OrtProvider::cuda},
                                                                  {"openvino", OrtProvider::openvino},
                                                                  {"tensorrt", OrtProvider::tensorrt}};

std::vector<int> cpus_of_this_thread() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

std::vector<OptionInfo> ort_option_infos() {
  return {
      {"execution_mode", "sequential, or parallel: independent nodes at the same time", "sequential", false},
      {"graph_optimization", "disabled, basic, extended, layout or all", "all", false},
      {"inter_op_threads", "threads that run nodes in parallel mode", "1", false},
      {"spinning", "on, or off: idle pool threads sleep at once", "on", false},
      {"io_binding", "on: buffers are bound to a slot once, at load; off: they are named in every run", "on", false},
      {"provider", "auto, cpu, cuda, tensorrt or openvino: who computes; auto is the device's own, cpu or cuda", "auto", false},
      {"pin", "on: each pool thread stays on an allowed CPU of its own; off: the system places them", "off", false},
  };
}

OrtSettings parse_ort_settings(const BackendOptions& options, int threads) {
  const auto choice = [&](const std::string& name, const auto& choices, const auto& fallback) {
    return option_choice("onnxruntime", options, name, choices, fallback);
  };
  OrtSettings settings;
  settings.threads = threads;
  settings.execution_mode = choice("execution_mode", execution_modes, settings.execution_mode);
  settings.graph_optimization = choice("graph_optimization", optimizations, settings.graph_optimization);
  settings.spinning = choice("spinning", switches, settings.spinning);
  settings.pinned = choice("pin", switches, settings.pinned);
  settings.io_binding = choice("io_binding", switches, settings.io_binding);
  settings.provider = choice("provider", providers, settings.provider);
  settings.inter_op_threads = option_count("onnxruntime", options, "inter_op_threads", settings.inter_op_threads);
  if (threads < 1) throw Error(ErrorKind::usage, fmt::format("onnxruntime: threads={} is wrong, expected 1 or more", threads));
  return settings;
}

OrtProvider ort_provider(const OrtSettings& settings, const DeviceId& device) {
  return settings.provider.value_or(device.kind == "cuda" ? OrtProvider::cuda : OrtProvider::cpu);
}

std::string affinity_text(const std::vector<int>& cpus, int threads) {
  if (threads < 2 || cpus.size() < static_cast<size_t>(threads)) return {};
  std::vector<std::string> places;
  for (size_t i = 1; i < static_cast<size_t>(threads); ++i) places.push_back(std::to_string(cpus[i] + 1));
  return join(places, ";");
}

OrtSessionOptionsHandle make_session_options(const OrtSettings& settings) {
  const OrtLibrary& ort = OrtLibrary::instance();
  OrtSessionOptions* made = nullptr;
  ort.call(ort_create_session_options, &made);
  OrtSessionOptionsHandle options(made);
  ort.call(ort_set_log_severity, made, ort_log_error);
  ort.call(ort_set_intra_op_threads, made, settings.threads);
  ort.call(ort_set_inter_op_threads, made, settings.inter_op_threads);
  ort.call(ort_set_execution_mode, made, settings.execution_mode);
  ort.call(ort_set_graph_optimization, made, settings.graph_optimization);
  const char* spinning = settings.spinning ? "1" : "0";
  ort.call(ort_add_config_entry, made, "session.intra_op.allow_spinning", spinning);
  ort.call(ort_add_config_entry, made, "session.inter_op.allow_spinning", spinning);
  // Without this the pool inherits the CPUs of the thread that loads, which is what the run asked for.
  const std::string affinity = settings.pinned ? affinity_text(cpus_of_this_thread(), settings.threads) : "";
  if (!affinity.empty()) ort.call(ort_add_config_entry, made, "session.intra_op_thread_affinities", affinity.c_str());
  return options;
}

}  // namespace deepgap
