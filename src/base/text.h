// Small text functions: names, numbers and times as users write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

std::vector<std::string> split(std::string_view text, char separator);  // "" gives one empty part
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string trim(std::string_view text);

// The candidate nearest to `name` by edit distance, if near enough to be a slip of the hand.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);
// "unknown model 'resnet5', did you mean 'resnet50'?" or, with nothing near, "unknown model 'x'; known: a, b, c".
std::string unknown_name(std::string_view kind, std::string_view name, const std::vector<std::string>& candidates);

// Whole-string parses; nullopt when anything is left over, out of range or not finite.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);
// "500ms", "8s", "2m", "1h", "20us", "100ns" as nanoseconds, not negative. A bare number is refused: units are always visible.
std::optional<int64_t> parse_duration(std::string_view text);
// "1%" or "0.01" as a fraction.
std::optional<double> parse_fraction(std::string_view text);
// "1.5 GiB"; "12.3 ms"; for people.
std::string format_bytes(double bytes);
std::string format_duration(int64_t nanoseconds);
std::string hex(std::string_view bytes);

}  // namespace deepgap
