#include "generate/lengths.h"

#include "base/messages.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>
#include <optional>

namespace deepgap {
namespace {

[[noreturn]] void wrong(const std::string& option, const std::string& text) {
  throw Error(
      ErrorKind::usage,
      invalid_value(text, option,
                    fmt::format("a number of tokens from 1 to {}, uniform:LOW:HIGH, lognormal:MEDIAN:SIGMA or file:PATH, such as 512 "
                                "or lognormal:512:0.7",
                                Lengths::most)));
}

std::optional<int64_t> length_from(const std::string& text) {
  const auto number = parse_int(text);
  return number && *number >= 1 && *number <= Lengths::most ? number : std::nullopt;
}

std::vector<int64_t> read_lengths(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::input, fmt::format("{}: the file of lengths cannot be read", path));
  std::vector<int64_t> lengths;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto length = length_from(line);
    if (!length) throw Error(ErrorKind::input, fmt::format("{}:{}: expected a number of tokens from 1 to {}", path, number, Lengths::most));
    lengths.push_back(*length);
  }
  if (lengths.empty()) throw Error(ErrorKind::input, fmt::format("{}: the file of lengths has none", path));
  return lengths;
}

}  // namespace

Lengths::Lengths(const std::string& option, const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts[0] == "file" && parts.size() > 1) {
    kind_ = Kind::listed;
    listed_ = read_lengths(text.substr(5));
  } else if (parts[0] == "uniform" && parts.size() == 3) {
    const auto low = length_from(parts[1]), high = length_from(parts[2]);
    if (!low || !high || *low > *high) wrong(option, text);
    low_ = *low;
    high_ = *high;
  } else if (parts[0] == "lognormal" && parts.size() == 3) {
    const auto median = length_from(parts[1]);
    const auto sigma = parse_double(parts[2]);
    if (!median || !sigma || !(*sigma > 0) || *sigma > 5) wrong(option, text);
    kind_ = Kind::lognormal;
    median_ = static_cast<double>(*median);
    sigma_ = *sigma;
  } else {
    const auto fixed = length_from(text);
    if (!fixed) wrong(option, text);
    low_ = high_ = *fixed;
  }
}

int64_t Lengths::of_sample(uint64_t index, RandomStream& random) const {
  if (kind_ == Kind::listed) return listed_[index % listed_.size()];
  const double first = random.uniform();
  if (kind_ == Kind::uniform) return low_ + static_cast<int64_t>(first * static_cast<double>(high_ - low_ + 1));
  constexpr double least = std::numeric_limits<double>::min();  // 0 has no logarithm
  const double normal = std::sqrt(-2 * std::log(std::max(first, least))) * std::cos(2 * std::numbers::pi * random.uniform());
  // Cut before it is rounded: the tail of a wide distribution lies beyond every integer.
  return std::llround(std::clamp(median_ * std::exp(sigma_ * normal), 1.0, static_cast<double>(most)));
}

}  // namespace deepgap
