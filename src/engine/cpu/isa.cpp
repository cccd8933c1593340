#include "engine/cpu/isa.h"

#include "base/cpu.h"

#include <deepgap/error.h>

#include <cpuid.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace deepgap {
namespace {

struct Isa {
  const char* name;
  const char* description;
  dnnl::cpu_isa limit;
  bool (*has)();
};

bool has_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
}
bool has_vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni") != 0; }
bool has_bf16() { return has_vnni() && __builtin_cpu_supports("avx512bf16") != 0; }

// Returns whether register edx of CPUID leaf 7 shows AMX.
bool shows_amx() {
  constexpr unsigned tile = 1U << 24, bf16 = 1U << 22, int8 = 1U << 25;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & tile) != 0 && (edx & bf16) != 0 && (edx & int8) != 0;
}
bool has_amx() { return has_bf16() && shows_amx() && !amx_tiles_are_hidden(); }

constexpr Isa isas[] = {
    {"avx2", "AVX2", dnnl::cpu_isa::avx2, has_avx2},
    {"avx512", "AVX-512", dnnl::cpu_isa::avx512_core, has_avx512},
    {"avx512_vnni", "AVX-512 VNNI", dnnl::cpu_isa::avx512_core_vnni, has_vnni},
    {"avx512_bf16", "AVX-512 BF16", dnnl::cpu_isa::avx512_core_bf16, has_bf16},
    {"amx", "AVX-512 AMX", dnnl::cpu_isa::avx512_core_amx, has_amx},
};

const Isa* find_isa(const std::string& name) {
  const auto* found = std::find_if(std::begin(isas), std::end(isas), [&](const Isa& isa) { return isa.name == name; });
  return found == std::end(isas) ? nullptr : found;
}

std::string effective_description() {
  switch (const auto isa = dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2 VNNI";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "AVX-512 FP16";
    default:
      for (const auto& known : isas)
        if (known.limit == isa) return known.description;
      return fmt::format("ISA {}", static_cast<int>(isa));
  }
}

std::optional<std::string> chosen;  // by the first limit_isa of this process

// oneDNN's numbers are bits, each ISA has those of what it includes.
bool uses(dnnl::cpu_isa least) {
  const auto bits = static_cast<unsigned>(least);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

void set_limit(dnnl::cpu_isa limit, const std::string& name) {
  if (dnnl::set_max_cpu_isa(limit) != dnnl::status::success)
    throw Error(ErrorKind::refused, fmt::format("native: isa {} comes too late: oneDNN was used in this process before", name));
}

}  // namespace

std::vector<std::string> isa_names() {
  std::vector<std::string> names{"auto"};
  for (const auto& isa : isas) names.emplace_back(isa.name);
  return names;
}

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const auto& isa : isas)
    if (isa.has()) names.emplace_back(isa.name);
  return names;
}

std::string isa_refusal(const std::string& name) {
  const auto* found = find_isa(name);
  if (name == "auto" || (found != nullptr && found->has())) return {};
  if (found == nullptr) return fmt::format("native: option isa={} is not one of {}", name, fmt::join(isa_names(), ", "));
  return fmt::format("native: this CPU has no {} that can be used, only {}", name, fmt::join(available_isas(), ", "));
}

void limit_isa(const std::string& name) {
  if (const auto reason = isa_refusal(name); !reason.empty()) throw Error(ErrorKind::refused, reason);
  if (chosen == name) return;
  if (chosen) throw Error(ErrorKind::refused, fmt::format("native: isa {}: this process computes with isa {}", name, *chosen));
  if (name != "auto") {
    set_limit(find_isa(name)->limit, name);
  } else if (amx_tiles_are_hidden()) {
    set_limit(dnnl::cpu_isa::avx512_core_fp16, name);
  }
  chosen = name;
}

std::string isa_description() {
  const std::string without = amx_tiles_are_hidden() ? ", without AMX" : "";
  if (chosen) return effective_description() + without;
  // Asking oneDNN would settle it.
  std::string best = "no AVX2";
  for (const auto& isa : isas)
    if (isa.has()) best = isa.description;
  const char* variable = std::getenv("ONEDNN_MAX_CPU_ISA");
  return best + without + (variable == nullptr ? "" : fmt::format(", at most {}", variable));
}

bool multiplies_integers_exactly() {
  const auto isa = dnnl::get_effective_cpu_isa();
  return isa != dnnl::cpu_isa::sse41 && isa != dnnl::cpu_isa::avx && isa != dnnl::cpu_isa::avx2 && isa != dnnl::cpu_isa::avx512_core;
}

bool computes_bf16() { return uses_avx512(); }

bool uses_avx2() { return uses(dnnl::cpu_isa::avx2) && has_avx2(); }
bool uses_vnni() { return uses(dnnl::cpu_isa::avx512_core_vnni) && has_vnni(); }
bool uses_avx512() { return uses(dnnl::cpu_isa::avx512_core); }
bool uses_amx() { return uses(dnnl::cpu_isa::avx512_core_amx) && has_amx(); }

}  // namespace deepgap
