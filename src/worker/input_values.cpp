#include "worker/input_values.h"

#include "base/messages.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

// Reads "NAME:VALUE/NAME:VALUE" with `mark` for ':' and `read` for a value. Names may hold '/' too: one ends where a value is.
template <typename Value>
std::map<std::string, Value> by_input(const std::string& text, char mark, std::optional<Value> (*read)(const std::string&),
                                      const char* place, const char* expected) {
  std::map<std::string, Value> all;
  if (text.empty()) return all;
  std::string input;
  for (const std::string& part : split(text, '/')) {
    input += (input.empty() ? "" : "/") + part;
    const size_t at = input.rfind(mark);
    if (at == std::string::npos || at == 0) continue;
    auto value = read(input.substr(at + 1));
    if (!value) continue;
    const std::string name = input.substr(0, at);
    if (!all.emplace(name, std::move(*value)).second)
      throw Error(ErrorKind::usage, fmt::format("{}: input '{}' is given twice: leave one out", place, name));
    input.clear();
  }
  if (!input.empty()) throw Error(ErrorKind::usage, invalid_value(text, place, expected));
  return all;
}

// "1x3x224", "Nx3": -1 for N.
std::optional<std::vector<int64_t>> parse_sizes(const std::string& text) {
  std::vector<int64_t> sizes;
  for (const std::string& size : split(text, 'x')) {
    const auto number = size == "N" ? std::optional<int64_t>(-1) : parse_int(size);
    if (!number || *number < -1 || *number > INT32_MAX) return std::nullopt;
    sizes.push_back(*number);
  }
  return sizes;
}

std::optional<double> input_number(const std::string& text) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  return parse_double(text);
}

// "1x3x8", "1,3,8"; nullopt: one of them is not a number.
std::optional<std::vector<double>> input_numbers(const std::string& text) {
  std::string crosses = text;
  std::replace(crosses.begin(), crosses.end(), ',', 'x');
  std::vector<double> numbers;
  for (const std::string& part : split(crosses, 'x')) {
    const auto number = input_number(trim(part));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::map<std::string, std::vector<int64_t>> parse_shapes(const std::string& text) {
  return by_input(text, ':', parse_sizes, "shape", "a shape such as input:1x3x224x224 (N stands for the batch), several joined by '/'");
}

InputNumbers parse_input_numbers(const std::string& text) {
  return by_input(text, '=', input_numbers, "--input", "NAME=NUMBERS such as k=5, sizes=1,3,224,224 or use_cache=true");
}

}  // namespace deepgap
