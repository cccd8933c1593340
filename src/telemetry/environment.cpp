#include "telemetry/environment.h"

#include "base/text.h"
#include "telemetry/cgroup.h"
#include "telemetry/system_file.h"
#include "telemetry/topology.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <array>
#include <set>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace deepgap {
namespace {

// Those that decide which kernels an engine picks.
constexpr std::array<std::string_view, 14> telling_flags{"sse4_2",      "avx",      "f16c",     "fma",         "avx2",
                                                         "avx_vnni",    "avx512f",  "avx512bw", "avx512_vnni", "avx512_bf16",
                                                         "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"};

Fact text_or(const std::string& text, std::string_view reason) { return text.empty() ? not_available(reason) : Fact(text); }

Fact number_or(const std::string& text, std::string_view reason) {
  const auto value = parse_int(text);
  return value ? Fact(*value) : not_available(reason);
}

std::string present_flags(const std::string& all) {
  const auto words = split(all, ' ');
  const std::set<std::string> known(words.begin(), words.end());
  std::vector<std::string> present;
  for (const std::string_view flag : telling_flags) {
    if (known.count(std::string(flag)) != 0) present.emplace_back(flag);
  }
  return join(present, " ");
}

void add_processor(const SystemRoot& root, Facts& facts) {
  const Reading cpuinfo = root.read("/proc/cpuinfo");
  const std::string text = cpuinfo.text.value_or("");
  const auto reason = [&](std::string_view key) { return cpuinfo.text ? fmt::format("/proc/cpuinfo has no '{}'", key) : cpuinfo.reason; };
  for (const auto& [fact, key] :
       {std::pair{"cpu.model", "model name"}, std::pair{"cpu.vendor", "vendor_id"}, std::pair{"cpu.microcode", "microcode"}}) {
    facts[fact] = text_or(value_of_key(text, key), reason(key));
  }
  for (const auto& [fact, key] :
       {std::pair{"cpu.family", "cpu family"}, std::pair{"cpu.model_number", "model"}, std::pair{"cpu.stepping", "stepping"}}) {
    facts[fact] = number_or(value_of_key(text, key), reason(key));
  }
  const std::string flags = value_of_key(text, "flags");
  facts["cpu.flags"] = flags.empty() ? not_available(reason("flags")) : Fact(present_flags(flags));
}

// The hypervisor's signature in CPUID leaf 0x40000000, as "KVMKVMKVM".
std::string hypervisor_signature() {
#if defined(__x86_64__)
  unsigned eax = 0;
  std::array<unsigned, 3> words{};
  __cpuid(0x40000000, eax, words[0], words[1], words[2]);
  std::string signature;
  for (const unsigned word : words) {
    for (int shift = 0; shift < 32; shift += 8) signature.push_back(static_cast<char>(word >> shift & 0xFF));
  }
  return trim(signature.substr(0, signature.find('\0')));
#else
  return {};
#endif
}

std::string hypervisor_name(const std::string& signature) {
  constexpr std::array<std::array<std::string_view, 2>, 5> known{{{"KVMKVMKVM", "KVM"},
                                                                  {"Microsoft Hv", "Hyper-V"},
                                                                  {"VMwareVMware", "VMware"},
                                                                  {"XenVMMXenVMM", "Xen"},
                                                                  {"TCGTCGTCGTCG", "QEMU without acceleration"}}};
  for (const auto& [mark, name] : known) {
    if (signature == mark) return std::string(name);
  }
  return signature;
}

void add_hypervisor(const SystemRoot& root, Facts& facts) {
  const std::string flags = value_of_key(root.text("/proc/cpuinfo"), "flags");
  if (flags.empty()) {
    facts["cpu.hypervisor"] = not_available("/proc/cpuinfo has no 'flags'");
    return;
  }
  if ((' ' + flags + ' ').find(" hypervisor ") == std::string::npos) {
    facts["cpu.hypervisor"] = std::string("none");
    return;
  }
  std::string name = root.text("/sys/hypervisor/type");
  if (name.empty() && root.is_real()) name = hypervisor_name(hypervisor_signature());
  facts["cpu.hypervisor"] = name.empty() ? "of unknown kind" : name;
}

// The distinct values of one cpufreq file over all CPUs, "performance" or "performance, powersave".
Fact over_policies(const SystemRoot& root, const std::string& file) {
  std::set<std::string> values;
  for (const std::string& policy : root.list("/sys/devices/system/cpu/cpufreq")) {
    const std::string value = root.text(fmt::format("/sys/devices/system/cpu/cpufreq/{}/{}", policy, file));
    if (policy.starts_with("policy") && !value.empty()) values.insert(value);
  }
  if (values.empty()) return not_available(fmt::format("no cpufreq/policy*/{}, as is usual in a virtual machine", file));
  return join({values.begin(), values.end()}, ", ");
}

void add_clocks(const SystemRoot& root, Facts& facts) {
  facts["cpu.governor"] = over_policies(root, "scaling_governor");
  facts["cpu.frequency_driver"] = over_policies(root, "scaling_driver");
  facts["cpu.frequency_max_khz"] = over_policies(root, "cpuinfo_max_freq");
  const auto no_turbo = root.integer("/sys/devices/system/cpu/intel_pstate/no_turbo");
  const auto boost = root.integer("/sys/devices/system/cpu/cpufreq/boost");
  if (no_turbo) {
    facts["cpu.turbo"] = *no_turbo == 0;
  } else if (boost) {
    facts["cpu.turbo"] = *boost != 0;
  } else {
    facts["cpu.turbo"] = not_available("no intel_pstate/no_turbo and no cpufreq/boost");
  }
  const auto smt = root.integer("/sys/devices/system/cpu/smt/active");
  facts["cpu.smt"] = smt ? Fact(*smt != 0) : not_available("no /sys/devices/system/cpu/smt/active");
}

Fact meminfo_bytes(const Reading& meminfo, const char* key) {
  if (!meminfo.text) return not_available(meminfo.reason);
  const auto kib = parse_int(split(value_of_key(*meminfo.text, key), ' ')[0]);
  return kib ? Fact(*kib * 1024) : not_available(fmt::format("/proc/meminfo has no '{}'", key));
}

void add_memory(const SystemRoot& root, Facts& facts) {
  const Reading meminfo = root.read("/proc/meminfo");
  facts["memory.total_bytes"] = meminfo_bytes(meminfo, "MemTotal");
  facts["memory.available_bytes"] = meminfo_bytes(meminfo, "MemAvailable");
  facts["memory.swap_total_bytes"] = meminfo_bytes(meminfo, "SwapTotal");
  const Fact free = meminfo_bytes(meminfo, "SwapFree");
  const auto *total = std::get_if<int64_t>(&facts["memory.swap_total_bytes"]), *left = std::get_if<int64_t>(&free);
  facts["memory.swap_used_bytes"] = total != nullptr && left != nullptr ? Fact(*total - *left) : free;
  // "always [madvise] never"
  const Reading huge = root.read("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string modes = huge.text.value_or("");
  const size_t open = modes.find('['), close = modes.find(']');
  const bool marked = open != std::string::npos && close != std::string::npos && open < close;
  facts["memory.transparent_hugepages"] =
      marked ? Fact(modes.substr(open + 1, close - open - 1)) : not_available(huge.text ? "the kernel marks no mode" : huge.reason);
}

void add_cgroup(const SystemRoot& root, Facts& facts) {
  const CgroupLimits limits = read_cgroup_limits(root);
  facts["cgroup.version"] = text_or(limits.version, "no control group in /proc/self/cgroup");
  const bool known = !limits.version.empty();
  const Fact unset = known ? Fact(std::string("none")) : not_available("no control group in /proc/self/cgroup");
  facts["cgroup.cpu_quota"] = limits.cpu_quota ? Fact(*limits.cpu_quota) : unset;
  facts["cgroup.memory_limit_bytes"] = limits.memory_bytes ? Fact(*limits.memory_bytes) : unset;
}

// NAME="value" of os-release.
std::string os_name(const std::string& release) {
  for (const std::string& line : split(release, '\n')) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string name = trim(line.substr(12));
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
    return name;
  }
  return {};
}

// The OpenMP runtime sets how threads wait and bind. Debian's package database names its build; elsewhere only the file is known.
Fact libgomp_version(const SystemRoot& root) {
  const Reading status = root.read("/var/lib/dpkg/status");
  const std::string_view packages = status.text ? std::string_view(*status.text) : std::string_view();
  const size_t entry = packages.find("\nPackage: libgomp1\n");
  if (entry == std::string::npos) return not_available("no package libgomp1 in /var/lib/dpkg/status");
  const std::string_view rest = packages.substr(entry + 1);
  return text_or(value_of_key(rest.substr(0, rest.find("\n\n")), "Version"), "package libgomp1 has no version");
}

void add_system(const SystemRoot& root, Facts& facts) {
  const Reading release = root.read("/etc/os-release");
  facts["os.name"] = text_or(os_name(release.text.value_or("")), release.text ? "/etc/os-release has no PRETTY_NAME" : release.reason);
  facts["os.kernel"] = root.read("/proc/sys/kernel/osrelease").fact();
  facts["host.name"] = root.read("/proc/sys/kernel/hostname").fact();
  facts["library.glibc"] = std::string(::gnu_get_libc_version());
  facts["library.libgomp"] = libgomp_version(root);
}

}  // namespace

Facts capture_environment(const std::string& root_path) {
  const SystemRoot root(root_path);
  Facts facts;
  add_processor(root, facts);
  add_topology(root, facts);
  add_hypervisor(root, facts);
  add_clocks(root, facts);
  add_memory(root, facts);
  add_cgroup(root, facts);
  add_system(root, facts);
  return facts;
}

}  // namespace deepgap
