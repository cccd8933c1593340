// The bits of a series "throttle_reasons": why a GPU's clocks are lower than they could be. Values as NVML's nvmlClocksEventReasons; the
// probe writes them, metrics and advice read them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace deepgap {

struct ThrottleReason {
  uint64_t bit;
  std::string_view name;
  bool slows;  // holds back work that is there; idleness and clocks that somebody set do not count
};
inline constexpr std::array<ThrottleReason, 11> throttle_reasons{{
    {0x001, "gpu_idle", false},
    {0x002, "application_clocks", false},
    {0x004, "sw_power_cap", true},
    {0x008, "hw_slowdown", true},
    {0x010, "sync_boost", true},
    {0x020, "sw_thermal_slowdown", true},
    {0x040, "hw_thermal_slowdown", true},
    {0x080, "hw_power_brake", true},
    {0x100, "display_clocks", false},
    {0x200, "board_limit", true},
    {0x400, "reliability", true},
}};
inline constexpr uint64_t throttled_by_power = 0x004 | 0x080 | 0x200, throttled_by_heat = 0x020 | 0x040;
inline constexpr uint64_t throttled_at_all = throttled_by_power | throttled_by_heat | 0x008 | 0x010 | 0x400;

// "sw_power_cap, hw_slowdown"; "none"; bits without a name are "others".
inline std::string throttle_words(uint64_t reasons) {
  std::string words;
  const auto add = [&](std::string_view word) { words += (words.empty() ? "" : ", ") + std::string(word); };
  for (const ThrottleReason& reason : throttle_reasons) {
    if ((reasons & reason.bit) != 0) add(reason.name);
    reasons &= ~reason.bit;
  }
  if (reasons != 0) add("others");
  return words.empty() ? "none" : words;
}

}  // namespace deepgap
