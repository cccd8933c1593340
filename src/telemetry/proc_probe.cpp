// Probe `proc`: what this process uses and what else the machine does, from getrusage, /proc and cpufreq. docs/reference/environment.md
// lists the series. CPU time of the process comes from getrusage (microseconds; /proc/self/stat counts 10 ms ticks), of the machine from
// /proc/stat in ticks, summed over all CPUs. What others use is machine_busy minus cpu_time.
#include "base/text.h"
#include "telemetry/probe.h"
#include "telemetry/proc_stat.h"
#include "telemetry/system_file.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <string_view>

namespace deepgap {
namespace {

struct SeriesInfo {
  std::string_view name, unit;
  bool counter;
};
enum Row {
  cpu_time,
  cpu_time_user,
  cpu_time_system,
  context_switches,
  voluntary_switches,
  involuntary_switches,
  minor_faults,
  major_faults,
  resident,
  resident_peak,
  machine_busy,
  machine_steal,
  machine_interrupts,
  machine_idle,
  runnable_tasks,
  cpu_frequency,
  row_count
};
constexpr std::array<SeriesInfo, row_count> infos{{
    {"cpu_time", "s", true},
    {"cpu_time_user", "s", true},
    {"cpu_time_system", "s", true},
    {"context_switches", "1", true},
    {"voluntary_switches", "1", true},
    {"involuntary_switches", "1", true},
    {"minor_faults", "1", true},
    {"major_faults", "1", true},
    {"resident", "bytes", false},
    {"resident_peak", "bytes", false},
    {"machine_busy", "s", true},
    {"machine_steal", "s", true},
    {"machine_interrupts", "s", true},
    {"machine_idle", "s", true},
    {"runnable_tasks", "1", false},
    {"cpu_frequency", "Hz", false},
}};

double seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; }

class ProcProbe final : public Probe {
 public:
  std::string name() const override { return "proc"; }

  std::optional<std::string> open(const TelemetrySettings& settings) override {
    root_ = SystemRoot(settings.root);
    for (const SeriesInfo& info : infos) series_.push_back({"proc", std::string(info.name), std::string(info.unit), info.counter, {}, {}});
    for (const std::string& cpu : root_.list("/sys/devices/system/cpu")) {
      const std::string path = fmt::format("/sys/devices/system/cpu/{}/cpufreq/scaling_cur_freq", cpu);
      if (cpu.size() > 3 && cpu.starts_with("cpu") && root_.integer(path)) frequency_paths_.push_back(path);
    }
    if (frequency_paths_.empty()) missing_["cpu_frequency"] = "no cpufreq/scaling_cur_freq, as is usual in a virtual machine";
    const Reading stat = root_.read("/proc/stat"), status = root_.read("/proc/self/status");
    if (!stat.text && !status.text) return stat.reason + " and " + status.reason;
    return std::nullopt;
  }

  void read(Nanoseconds now) override {
    read_usage(now);
    read_status(now);
    read_machine(now);
    read_frequency(now);
  }

  const std::vector<Series>& series() const override { return series_; }
  std::map<std::string, std::string> missing() const override { return missing_; }

 private:
  void append(Row row, Nanoseconds now, double value) {
    series_[row].times.push_back(now);
    series_[row].values.push_back(value);
  }

  void read_usage(Nanoseconds now) {
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) != 0) return;
    append(cpu_time, now, seconds(usage.ru_utime) + seconds(usage.ru_stime));
    append(cpu_time_user, now, seconds(usage.ru_utime));
    append(cpu_time_system, now, seconds(usage.ru_stime));
    append(context_switches, now, static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw));
    append(voluntary_switches, now, static_cast<double>(usage.ru_nvcsw));
    append(involuntary_switches, now, static_cast<double>(usage.ru_nivcsw));
    append(minor_faults, now, static_cast<double>(usage.ru_minflt));
    append(major_faults, now, static_cast<double>(usage.ru_majflt));
  }

  void read_status(Nanoseconds now) {
    const Reading status = root_.read("/proc/self/status");
    for (const auto& [row, key] : {std::pair{resident, "VmRSS"}, std::pair{resident_peak, "VmHWM"}}) {
      const auto kib = parse_int(split(value_of_key(status.text.value_or(""), key), ' ')[0]);
      if (kib && *kib > 0) {
        append(row, now, static_cast<double>(*kib) * 1024);
      } else {
        missing_[std::string(infos[row].name)] = status.text ? fmt::format("no {} in /proc/self/status", key) : status.reason;
      }
    }
  }

  void read_machine(Nanoseconds now) {
    const Reading stat = root_.read("/proc/stat");
    const auto times = parse_proc_stat(stat.text.value_or(""));
    if (!times) {
      const std::string reason = stat.text ? "/proc/stat has no line of all CPUs" : stat.reason;
      for (const Row row : {machine_busy, machine_steal, machine_interrupts, machine_idle, runnable_tasks})
        missing_[std::string(infos[row].name)] = reason;
      return;
    }
    append(machine_busy, now, times->busy_s);
    append(machine_interrupts, now, times->interrupts_s);
    append(machine_idle, now, times->idle_s);
    if (times->steal_s) {
      append(machine_steal, now, *times->steal_s);
    } else {
      missing_["machine_steal"] = "/proc/stat has no steal time";
    }
    if (times->runnable) append(runnable_tasks, now, *times->runnable);
  }

  // Mean over the CPUs that say.
  void read_frequency(Nanoseconds now) {
    double sum = 0;
    int known = 0;
    for (const std::string& path : frequency_paths_) {
      const auto khz = root_.integer(path);
      if (!khz || *khz <= 0) continue;
      sum += static_cast<double>(*khz) * 1000;
      ++known;
    }
    if (known > 0) {
      append(cpu_frequency, now, sum / known);
    } else if (!frequency_paths_.empty()) {
      missing_["cpu_frequency"] = "cpufreq/scaling_cur_freq has vanished";
    }
  }

  SystemRoot root_{"/"};
  std::vector<std::string> frequency_paths_;
  std::vector<Series> series_;
  std::map<std::string, std::string> missing_;
};

const bool registered = Registry<Probe>::instance().add("proc", [] { return std::make_unique<ProcProbe>(); });

}  // namespace
}  // namespace deepgap
