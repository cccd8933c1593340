// The times of an export's columns.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace deepgap {

// 2026-11-21T07:15:00.250Z in nanoseconds since 1970.
inline std::optional<int64_t> export_time(const std::string& text) {
  int year = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2uT%2u:%2u:%2u.%3uZ", &year, &month, &day, &hour, &minute, &second, &ms) != 7)
    return std::nullopt;
  using namespace std::chrono;
  const sys_days date{std::chrono::year{year} / month / day};
  const auto since = date.time_since_epoch() + hours{hour} + minutes{minute} + seconds{second} + milliseconds{ms};
  return duration_cast<nanoseconds>(since).count();
}

}  // namespace deepgap
