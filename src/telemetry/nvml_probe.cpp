// Probe `nvml`: the GPUs that are measured on, through NVIDIA's management library. A series' domain is its device as the Point names it:
// "energy.cuda0" is the energy of cuda:0. docs/reference/environment.md lists the series.
#include "telemetry/nvml_probe.h"

#include "telemetry/gpu_path.h"
#include "telemetry/gpus.h"
#include "telemetry/nvml_series.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

class NvmlProbe final : public Probe {
 public:
  NvmlProbe(NvmlLoader load, CudaEnvironment environment) : load_(std::move(load)), cuda_(std::move(environment)) {}
  std::string name() const override { return "nvml"; }

  std::optional<std::string> open(const TelemetrySettings& settings) override {
    const auto is_gpu = [](const DeviceId& device) { return device.kind == "cuda"; };
    if (std::none_of(settings.devices.begin(), settings.devices.end(), is_gpu)) return "not needed: nothing is measured on a GPU";
    NvmlLoad library = load_();
    if (!library.reason.empty()) return library.reason;
    api_ = std::move(library.api);
    const int started = nvml_call(api_.init);
    if (started != nvml_ok) return nvml_words(started);
    const VisibleGpus visible = visible_gpus(api_, cuda_);
    if (visible.gpus.empty()) return visible.reason;
    for (const auto& [key, fact] : driver_facts(api_)) environment_["gpu." + key] = fact;
    if (!visible.note.empty()) environment_["warning.gpu_order"] = visible.note;
    for (const DeviceId& wanted : settings.devices) {
      if (wanted.kind == "cuda") add_device(visible, wanted.index, settings.root);
    }
    if (series_.empty()) return fmt::format("the driver shows {} GPUs here, and none of those asked for", visible.gpus.size());
    return std::nullopt;
  }

  void read(Nanoseconds now) override { read_rows(now, false); }
  void read_slow(Nanoseconds now) override { read_rows(now, true); }
  const std::vector<Series>& series() const override { return series_; }
  std::map<std::string, std::string> missing() const override { return missing_; }
  Facts environment() const override { return environment_; }

 private:
  struct Source {
    const NvmlRow* row;
    size_t gpu;  // in gpus_
  };
  struct Gpu {
    NvmlDevice device;
    int ordinal = 0;
    bool lost = false;
  };

  void add_device(const VisibleGpus& visible, int ordinal, const std::string& root) {
    const std::string domain = fmt::format("cuda{}", ordinal);
    if (environment_.contains(fmt::format("gpu.{}.name", domain))) return;  // named twice
    const auto found =
        std::find_if(visible.gpus.begin(), visible.gpus.end(), [&](const VisibleGpu& gpu) { return gpu.ordinal == ordinal; });
    if (found == visible.gpus.end()) {
      missing_[domain] = fmt::format("the driver shows {} GPUs here", visible.gpus.size());
      return;
    }
    for (const auto& [key, fact] : gpu_facts(api_, found->device, root)) environment_[fmt::format("gpu.{}.{}", domain, key)] = fact;
    for (const Gpu& other : gpus_) {
      add_path(api_, found->device, other.device, other.ordinal, fmt::format("gpu.{}.", domain), environment_);
      add_path(api_, other.device, found->device, ordinal, fmt::format("gpu.cuda{}.", other.ordinal), environment_);
    }
    gpus_.push_back({found->device, ordinal});
    for (const NvmlRow& row : nvml_rows()) {
      const std::string series = fmt::format("{}.{}", row.name, domain);
      const NvmlReading first = row.read(api_, found->device);
      if (first.result != nvml_ok) missing_[series] = nvml_words(first.result);
      if (first.result == nvml_not_supported || first.result == nvml_function_not_found || first.result == nvml_no_permission) continue;
      sources_.push_back({&row, gpus_.size() - 1});
      series_.push_back({"nvml", series, std::string(row.unit), row.counter, {}, {}});
    }
  }

  void read_rows(Nanoseconds now, bool slow) {
    for (size_t i = 0; i < sources_.size(); ++i) {
      Gpu& gpu = gpus_[sources_[i].gpu];
      if (gpu.lost || sources_[i].row->slow != slow) continue;
      const NvmlReading reading = sources_[i].row->read(api_, gpu.device);
      if (reading.result == nvml_gpu_is_lost) {
        lose(sources_[i].gpu, now);
      } else if (reading.result != nvml_ok) {
        missing_[series_[i].name] = "at times: " + nvml_words(reading.result);
      } else {
        series_[i].times.push_back(now);
        series_[i].values.push_back(reading.value);
      }
    }
  }

  // From here on nobody asks this device again: a driver that lost one may take seconds for every answer.
  void lose(size_t gpu, Nanoseconds now) {
    gpus_[gpu].lost = true;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].gpu != gpu) continue;
      const double after = series_[i].times.empty() ? 0 : static_cast<double>(now - series_[i].times.front()) / 1e9;
      missing_[series_[i].name] = fmt::format("{}, {:.1f} s after the first reading", nvml_words(nvml_gpu_is_lost), after);
    }
  }

  NvmlLoader load_;
  CudaEnvironment cuda_;
  NvmlApi api_;
  std::vector<Gpu> gpus_;
  std::vector<Source> sources_;  // one for each of series_
  std::vector<Series> series_;
  std::map<std::string, std::string> missing_;
  Facts environment_;
};

const bool registered = Registry<Probe>::instance().add("nvml", [] { return make_nvml_probe(load_nvml, cuda_environment()); });

}  // namespace

std::unique_ptr<Probe> make_nvml_probe(NvmlLoader load, CudaEnvironment environment) {
  return std::make_unique<NvmlProbe>(std::move(load), std::move(environment));
}

}  // namespace deepgap
