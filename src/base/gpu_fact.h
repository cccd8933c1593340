// Names of facts about a GPU: "gpu.cudaN.KEY", N as in the device cuda:N.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace deepgap {

struct GpuFact {
  int gpu = 0;
  std::string key;
};
// Returns nothing for the name of another fact.
inline std::optional<GpuFact> parse_gpu_fact(std::string_view name) {
  constexpr std::string_view prefix = "gpu.cuda";
  if (!name.starts_with(prefix)) return std::nullopt;
  const char *begin = name.data() + prefix.size(), *end = name.data() + name.size();
  GpuFact fact;
  const auto [after, error] = std::from_chars(begin, end, fact.gpu);
  if (error != std::errc() || after == end || *after != '.') return std::nullopt;
  fact.key.assign(after + 1, end);
  return fact;
}

}  // namespace deepgap
