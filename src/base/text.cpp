#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

namespace deepgap {
namespace {

// Damerau's distance (optimal string alignment): two letters the wrong way round are one slip, the most usual one.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row.back();
}

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Unit {
  std::string_view suffix;
  double factor;
};

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  size_t best_distance = std::max<size_t>(1, (name.size() + 1) / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string unknown_name(std::string_view kind, std::string_view name, const std::vector<std::string>& candidates) {
  if (const auto near = nearest_name(name, candidates)) {
    return fmt::format("unknown {} '{}', did you mean '{}'?", kind, name, *near);
  }
  return fmt::format("unknown {} '{}'; known: {}", kind, name, join(candidates, ", "));
}

std::optional<int64_t> parse_int(std::string_view text) { return parse_whole<int64_t>(text); }

std::optional<double> parse_double(std::string_view text) {
  const auto value = parse_whole<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_duration(std::string_view text) {
  constexpr std::array<Unit, 7> units{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}}};
  const auto digits_end = text.find_first_not_of("0123456789.");
  if (digits_end == std::string_view::npos) return std::nullopt;
  const auto number = parse_double(text.substr(0, digits_end));
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.suffix == text.substr(digits_end); });
  if (!number || unit == units.end() || *number * unit->factor > 9e18) return std::nullopt;
  return static_cast<int64_t>(std::llround(*number * unit->factor));
}

std::optional<double> parse_fraction(std::string_view text) {
  if (!text.empty() && text.back() == '%') {
    const auto percent = parse_double(text.substr(0, text.size() - 1));
    if (!percent) return std::nullopt;
    return *percent / 100;
  }
  return parse_double(text);
}

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string format_duration(int64_t nanoseconds) {
  const double ns = static_cast<double>(nanoseconds);
  if (ns < 1e3) return fmt::format("{} ns", nanoseconds);
  // What three digits round up to 1000 belongs to the next unit.
  if (ns < 999.5e3) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 999.5e6) return fmt::format("{:.3g} ms", ns / 1e6);
  if (ns < 60e9) return fmt::format("{:.3g} s", ns / 1e9);
  if (ns < 3600e9) return fmt::format("{} min {:02d} s", nanoseconds / 60'000'000'000, nanoseconds / 1'000'000'000 % 60);
  return fmt::format("{} h {:02d} min", nanoseconds / 3'600'000'000'000, nanoseconds / 60'000'000'000 % 60);
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace deepgap
