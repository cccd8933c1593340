#include "backends/onnxruntime/ort_settings.h"

#include "backends/onnxruntime/ort_failure.h"
#include "base/text.h"

#include <fmt/format.h>
#include <sched.h>

#include <filesystem>

namespace deepgap {
namespace {

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

// "a.so:/opt/b.so", absolute.
std::vector<std::string> libraries_of(const std::string& text) {
  std::vector<std::string> paths;
  for (const std::string& path : split(text, ':')) {
    std::error_code error;
    if (path.empty() || !std::filesystem::is_regular_file(path, error))
      throw Error(ErrorKind::usage, fmt::format("onnxruntime: custom_ops={}: there is no library '{}'", text, path));
    paths.push_back(std::filesystem::absolute(path).string());
  }
  return paths;
}

OptionTable<OrtSettings> make_table() {
  constexpr int64_t most_threads = 1024;
  OptionTable<OrtSettings> table("onnxruntime");
  table.choice("execution_mode", "sequential, or parallel: independent nodes at the same time", &OrtSettings::execution_mode,
               {{"sequential", ort_sequential}, {"parallel", ort_parallel}});
  table.choice("graph_optimization", "disabled, basic, extended, layout or all", &OrtSettings::graph_optimization,
               {{"disabled", ort_disable_all},
                {"basic", ort_enable_basic},
                {"extended", ort_enable_extended},
                {"layout", ort_enable_layout},
                {"all", ort_enable_all}});
  table.count("inter_op_threads", "threads that run nodes in parallel mode", &OrtSettings::inter_op_threads, 1, most_threads);
  table.on_off("spinning", "on, or off: idle pool threads sleep at once", &OrtSettings::spinning);
  table.on_off("io_binding", "on: buffers are bound to a slot once, at load; off: they are named in every run", &OrtSettings::io_binding);
  table.choice("provider", "auto, cpu, cuda, tensorrt or openvino: who computes; auto is the device's own, cpu or cuda",
               &OrtSettings::provider,
               {{"auto", std::nullopt},
                {"cpu", OrtProvider::cpu},
                {"cuda", OrtProvider::cuda},
                {"openvino", OrtProvider::openvino},
                {"tensorrt", OrtProvider::tensorrt}});
  table.row({"custom_ops", "libraries of custom operators (each exports RegisterCustomOps), joined by ':'", "", true},
            [](OrtSettings& settings, const std::string& libraries) { settings.custom_ops = libraries_of(libraries); });
  table.on_off("pin", "on: each pool thread stays on an allowed CPU of its own; off: the system places them", &OrtSettings::pinned);
  table.part(&OrtSettings::generation, generation_options());
  return table;
}

void register_custom_ops(const OrtLibrary& ort, OrtSessionOptions* options, const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    try {
      ort.call(ort_register_custom_ops_library, options, library.c_str());
    } catch (const OrtFailure& failure) {
      throw Error(ErrorKind::refused,
                  fmt::format("onnxruntime: {} is not a usable library of custom operators: {}", library, short_message(failure.message)));
    }
  }
}

}  // namespace

const OptionTable<OrtSettings>& ort_options() {
  static const OptionTable<OrtSettings> table = make_table();
  return table;
}

OrtSettings ort_settings(const EngineRequest& request) {
  OrtSettings settings = ort_options().parse(request.options);
  settings.threads = request.threads;
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

OrtSessionOptionsHandle make_session_options(const OrtSettings& settings, Precision precision) {
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
  // The library's own choice is to quantize them: 43 to 51 dB.
  if (precision != Precision::int8) ort.call(ort_add_config_entry, made, "session.qdq_matmulnbits_accuracy_level", "1");
  // Without this the pool inherits the CPUs of the thread that loads, which is what the run asked for.
  const std::string affinity = settings.pinned ? affinity_text(cpus_of_this_thread(), settings.threads) : "";
  if (!affinity.empty()) ort.call(ort_add_config_entry, made, "session.intra_op_thread_affinities", affinity.c_str());
  register_custom_ops(ort, made, settings.custom_ops);
  return options;
}

}  // namespace deepgap
