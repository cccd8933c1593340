// The advice of `deepgap doctor`. Each function judges one thing; a threshold stands beside its reason.
#include "base/quantity.h"
#include "base/text.h"
#include "telemetry/environment.h"
#include "telemetry/machine_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace deepgap {
namespace {

using Level = Advice::Level;

const Fact* fact_of(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? nullptr : &found->second;
}
template <typename T>
std::optional<T> value_of(const Facts& facts, const std::string& key) {
  const Fact* fact = fact_of(facts, key);
  const T* value = fact == nullptr ? nullptr : std::get_if<T>(fact);
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}
std::optional<std::string> known_text(const Facts& facts, const std::string& key) {
  auto text = value_of<std::string>(facts, key);
  return text && !text->starts_with("not available") ? text : std::nullopt;
}
bool is_virtual(const Facts& facts) { return known_text(facts, "cpu.hypervisor").value_or("none") != "none"; }

Advice judge_governor(const Facts& facts) {
  const auto governor = known_text(facts, "cpu.governor");
  if (!governor) {
    return {is_virtual(facts) ? Level::unknown : Level::note, "governor", "the kernel does not say which frequency governor runs",
            is_virtual(facts) ? "" : "look into the firmware's power settings; choose a performance profile"};
  }
  if (*governor == "performance") return {Level::ok, "governor", "frequency governor: performance", ""};
  return {Level::warning, "governor", fmt::format("frequency governor: {}; clocks rise and fall with the load", *governor),
          "sudo cpupower frequency-set -g performance"};
}

Advice judge_turbo(const Facts& facts) {
  const auto turbo = value_of<bool>(facts, "cpu.turbo");
  if (!turbo) return {Level::unknown, "turbo", "deepgap cannot see whether turbo is on", ""};
  if (!*turbo) return {Level::ok, "turbo", "turbo is off: clocks are steady and below the peak", ""};
  return {Level::note, "turbo", "turbo is on: clocks depend on temperature and on how many cores work",
          "for steady clocks: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo (AMD: echo 0 to cpufreq/boost)"};
}

Advice judge_frequency(const Facts& facts) {
  if (known_text(facts, "cpu.frequency_driver")) return {Level::ok, "clock readings", "the CPU frequency is recorded with every run", ""};
  return {Level::note, "clock readings", "the CPU frequency cannot be read: a change of clocks will not show in the records",
          "measure on the bare machine where clocks matter; else trust only repeats spread over time"};
}

Advice judge_hypervisor(const Facts& facts) {
  const auto name = known_text(facts, "cpu.hypervisor");
  if (!name) return {Level::unknown, "virtual machine", "deepgap cannot see whether this is a virtual machine", ""};
  if (*name == "none") return {Level::ok, "virtual machine", "not a virtual machine", ""};
  return {Level::note, "virtual machine", fmt::format("a virtual machine ({}): cores, caches and memory may be shared with others", *name),
          "compare only within one run; take more repeats"};
}

Advice judge_steal(const std::optional<MachineLoad>& load) {
  if (!load || !load->steal) return {Level::unknown, "steal", "stolen CPU time is not counted here", ""};
  const std::string finding = fmt::format("{:.1f} % of the CPU time is stolen by the host for other machines", *load->steal * 100);
  if (*load->steal < 0.002) return {Level::ok, "steal", finding, ""};
  return {*load->steal < 0.02 ? Level::note : Level::warning, "steal", finding,
          "use a machine type with dedicated CPUs, or measure at a quieter hour"};
}

Advice judge_swap(const Facts& facts, const std::optional<MachineLoad>& load) {
  const auto used = value_of<int64_t>(facts, "memory.swap_used_bytes");
  if (!used) return {Level::unknown, "swap", "the use of swap cannot be seen", ""};
  if (load && load->pages_swapped_in > 0) {
    return {Level::warning, "swap", "pages are being read back from swap right now", "free memory, then sudo swapoff -a"};
  }
  if (*used == 0) return {Level::ok, "swap", "no swap is in use", ""};
  return {Level::note, "swap", fmt::format("{} of swap are in use", format_bytes(static_cast<double>(*used))),
          "free memory, then sudo swapoff -a"};
}

// The rest must hold a large batch's activations beside the page cache of the model file.
Advice judge_memory(const Facts& facts) {
  const auto total = value_of<int64_t>(facts, "memory.total_bytes"), left = value_of<int64_t>(facts, "memory.available_bytes");
  if (!total || !left || *total <= 0) return {Level::unknown, "memory", "free memory cannot be seen", ""};
  const std::string finding =
      fmt::format("{} of {} memory available", format_bytes(static_cast<double>(*left)), format_bytes(static_cast<double>(*total)));
  const double share = static_cast<double>(*left) / static_cast<double>(*total);
  if (share >= 0.25) return {Level::ok, "memory", finding, ""};
  return {share < 0.10 ? Level::warning : Level::note, "memory", finding, "stop what holds it; large batches will fail or swap"};
}

Advice judge_quota(const Facts& facts) {
  const auto quota = value_of<double>(facts, "cgroup.cpu_quota");
  if (!quota) return {Level::ok, "CPU quota", "no CPU quota on this control group", ""};
  return {Level::warning, "CPU quota",
          fmt::format("a quota of {} CPUs: the kernel stops all threads whenever it is used up", short_text(*quota, 3)),
          "give the container CPUs of its own instead (docker --cpuset-cpus, Kubernetes static CPU policy)"};
}

Advice judge_memory_limit(const Facts& facts) {
  const auto limit = value_of<int64_t>(facts, "cgroup.memory_limit_bytes"), total = value_of<int64_t>(facts, "memory.total_bytes");
  if (!limit || (total && *limit >= *total)) return {Level::ok, "memory limit", "no memory limit on this control group", ""};
  return {Level::note, "memory limit",
          fmt::format("this control group may use {}: a run beyond it is killed", format_bytes(static_cast<double>(*limit))),
          "raise the limit for large batches"};
}

Advice judge_smt(const Facts& facts) {
  const auto per_core = value_of<int64_t>(facts, "cpu.threads_per_core");
  const auto cores = value_of<int64_t>(facts, "cpu.cores");
  if (!per_core || !cores || *per_core < 2) return {Level::ok, "threads per core", "one hardware thread a core", ""};
  return {Level::note, "threads per core", fmt::format("{} hardware threads share each of {} cores", *per_core, *cores),
          fmt::format("use at most --threads {}, one a core", *cores)};
}

// Judges what the engines take from the environment if no option sets their number of threads.
Advice judge_thread_settings(size_t allowed) {
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    const char* text = std::getenv(name);
    const auto threads = text == nullptr ? std::nullopt : parse_int(text);
    if (!threads || *threads <= static_cast<int64_t>(allowed)) continue;
    return {Level::warning, "threads", fmt::format("{}={} is more than the {} CPUs this process may use", name, *threads, allowed),
            fmt::format("unset {}", name)};
  }
  return {Level::ok, "threads", fmt::format("{} CPUs may be used; no setting asks for more threads", allowed), ""};
}

Advice judge_hugepages(const Facts& facts) {
  const auto mode = known_text(facts, "memory.transparent_hugepages");
  if (!mode) return {Level::unknown, "huge pages", "deepgap cannot see whether transparent huge pages are on", ""};
  if (*mode != "never") return {Level::ok, "huge pages", "transparent huge pages: " + *mode, ""};
  return {Level::note, "huge pages", "transparent huge pages are off: large buffers cost more address translation",
          "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};
}

// A hundredth of the machine moves a throughput by about as much as the default interval; a tenth drowns it.
constexpr double drowns = 0.10;

// Returns a share of the machine: "1.9 %", and from a tenth on "98 %", since a look of a third of a second knows no more.
std::string share_text(double share) { return share < 0.1 ? percent_text(share) : fmt::format("{:.0f} %", share * 100); }

// ", most of all cc1plus (process 4711, 50 %)"
std::string busiest_text(const std::optional<BusyProcess>& busiest) {
  if (!busiest) return "; top shows which";
  const std::string which = busiest->count > 1 ? fmt::format("{} processes", busiest->count) : fmt::format("process {}", busiest->process);
  return fmt::format(", most of all {}{} ({}, {})", busiest->started_others ? "processes started by " : "", busiest->name, which,
                     share_text(busiest->share));
}

}  // namespace

std::string disturbance_words(const std::optional<MachineLoad>& load) {
  if (load && load->others >= drowns)
    return fmt::format("other processes used {} of its CPU time{}. Stop them and run again", share_text(load->others),
                       load->busiest ? busiest_text(load->busiest) : "");
  if (load && load->steal.value_or(0) >= drowns)
    return fmt::format("its host gave {} of the CPU time to other machines. Use dedicated CPUs, or run again at a quieter hour",
                       percent_text(*load->steal));
  return {};
}

Advice neighbours_advice(const std::optional<MachineLoad>& load) {
  if (!load)
    return {Advice::Level::note, "other processes", "other processes cannot be seen: /proc/stat is missing or does not advance",
            "check with top"};
  const std::string finding = fmt::format("other processes use {} of the machine's CPU time", share_text(load->others));
  if (load->others < 0.02) return {Advice::Level::ok, "other processes", finding, ""};
  return {load->others < drowns ? Advice::Level::note : Advice::Level::warning, "other processes", finding + busiest_text(load->busiest),
          "stop them, or wait until they end"};
}

std::vector<Advice> examine_machine(const Facts& environment, const std::string& root_path) {
  const SystemRoot root(root_path);
  const auto load = watch_machine(root, 330);
  std::vector<Advice> advice{neighbours_advice(load),
                             judge_steal(load),
                             judge_quota(environment),
                             judge_governor(environment),
                             judge_thread_settings(allowed_cpus(root_path).size()),
                             judge_swap(environment, load),
                             judge_memory(environment),
                             judge_turbo(environment),
                             judge_frequency(environment),
                             judge_hypervisor(environment),
                             judge_smt(environment),
                             judge_memory_limit(environment),
                             judge_hugepages(environment)};
  std::stable_sort(advice.begin(), advice.end(), [](const Advice& a, const Advice& b) { return a.level > b.level; });
  return advice;
}

}  // namespace deepgap
