// Axes by name, and their syntax: lists and ranges in one line of text.
#include "plan/study.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>

namespace deepgap {
namespace {

struct Range {
  int64_t first = 0, last = 0, step = 1;
  bool multiply = false;
};

[[noreturn]] void fail(const std::string& where, const std::string& cause) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", where, cause));
}

bool begins_with_number(std::string_view text) {
  const size_t digit = !text.empty() && text[0] == '-' ? 1 : 0;
  return digit < text.size() && std::isdigit(static_cast<unsigned char>(text[digit])) != 0;
}

// A range begins with a whole number and two dots; "../x.onnx" is a path and "0.5" a number.
std::optional<Range> parse_range(const std::string& part, const std::string& where) {
  const size_t dots = part.find("..");
  if (dots == std::string::npos || !begins_with_number(part) || !parse_int(part.substr(0, dots))) return std::nullopt;
  const std::string rest = part.substr(dots + 2);
  const size_t sign = rest.find_first_of("*+");
  Range range;
  const auto first = parse_int(part.substr(0, dots)), last = parse_int(rest.substr(0, sign));
  const auto step = sign == std::string::npos ? std::optional<int64_t>(1) : parse_int(rest.substr(sign + 1));
  if (!first || !last || !step) fail(where, fmt::format("invalid range '{}': expected 1..8, 10..50+10 or 1..512*2", part));
  range = {*first, *last, *step, sign != std::string::npos && rest[sign] == '*'};
  if (range.last < range.first) fail(where, fmt::format("the range '{}' ends before it begins", part));
  if (range.step < (range.multiply ? 2 : 1)) {
    fail(where, fmt::format("the range '{}' does not grow: {}", part, range.multiply ? "multiply by 2 or more" : "add 1 or more"));
  }
  if (range.multiply && range.first < 1) fail(where, fmt::format("the range '{}' multiplies, so it must begin with 1 or more", part));
  return range;
}

// Values in order, each once.
class Values {
 public:
  explicit Values(const std::string& where) : where_(where) {}
  void add(std::string value) {
    if (!seen_.insert(value).second) return;
    if (values_.size() >= most_jobs) fail(where_, fmt::format("more than {} values", most_jobs));
    values_.push_back(std::move(value));
  }
  void add(const Range& range) {
    for (int64_t value = range.first; value <= range.last;) {
      add(std::to_string(value));
      const bool overflow =
          range.multiply ? __builtin_mul_overflow(value, range.step, &value) : __builtin_add_overflow(value, range.step, &value);
      if (overflow) return;
    }
  }
  std::vector<std::string> take() { return std::move(values_); }

 private:
  const std::string& where_;
  std::vector<std::string> values_;
  std::unordered_set<std::string> seen_;
};

bool is_setting(const std::string& part) {
  const size_t equals = part.find('=');
  return equals != std::string::npos && equals > 0 && part.find_first_of(":/") > equals;
}

// The parts between commas; "classes=10" after "resnet50:width=0.5" belongs to it.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> parts;
  for (const std::string& raw : split(text, ',')) {
    const std::string part = trim(raw);
    const bool continues =
        !parts.empty() && is_setting(part) && parts.back().find(':') != std::string::npos && parts.back().find('=') != std::string::npos;
    if (continues) {
      parts.back() += "," + part;
    } else {
      parts.push_back(part);
    }
  }
  return parts;
}

}  // namespace

const Axis* find_axis(const std::vector<Axis>& axes, std::string_view name) {
  const auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

void set_axis(std::vector<Axis>& axes, Axis axis) {
  const auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& known) { return known.name == axis.name; });
  if (found == axes.end()) {
    axes.push_back(std::move(axis));
  } else {
    *found = std::move(axis);
  }
}

std::vector<std::string> parse_axis_values(const std::string& text, const std::string& where) {
  if (trim(text).empty()) fail(where, "no value; write one, a list 1,2,4 or a range 1..512*2");
  Values values(where);
  for (const std::string& part : split_values(text)) {
    if (part.empty()) fail(where, fmt::format("an empty value in '{}'", text));
    if (const auto range = parse_range(part, where)) {
      values.add(*range);
    } else {
      values.add(part);
    }
  }
  return values.take();
}

std::optional<std::string> parse_target(const std::string& text) {
  if (text == "throughput") return text;
  const std::string number = !text.empty() && text[0] == 'p' ? text.substr(1) : text;
  const auto percentile = parse_double(number);
  if (!percentile || *percentile <= 0 || *percentile >= 100) return std::nullopt;
  return "p" + number;
}

}  // namespace deepgap
