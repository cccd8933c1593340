#include "scenario/trace_file.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

namespace deepgap {
namespace {

constexpr size_t longest_line = 256;
constexpr double latest_s = 9e9;  // as nanoseconds it fits

}  // namespace

TraceArrivals::TraceArrivals(const std::string& path, TraceUnit unit) : path_(path), unit_(unit), file_(path) {
  if (!file_ || std::filesystem::is_directory(path)) throw Error(ErrorKind::input, fmt::format("cannot read the trace '{}'", path));
}

// Reads a line up to a limit: a file without line breaks must not be read as one line.
bool TraceArrivals::read_line() {
  line_.clear();
  ++line_number_;
  for (int c = file_.rdbuf()->sbumpc(); c != '\n'; c = file_.rdbuf()->sbumpc()) {
    if (c == std::ifstream::traits_type::eof()) return !line_.empty();
    line_ += static_cast<char>(c);
    if (line_.size() > longest_line) fail(fmt::format("a line of more than {} characters", longest_line));
  }
  return true;
}

Nanoseconds TraceArrivals::next() {
  while (read_line()) {
    const std::string text = trim(std::string_view(line_).substr(0, line_.find('#')));
    if (text.empty()) continue;
    const Nanoseconds time = parse(text);
    if (begun_ && time < last_) fail(fmt::format("{} goes back in time: the arrival before it is later", text));
    if (!begun_) first_ = time;
    begun_ = true;
    last_ = time;
    return time - first_;
  }
  return never;
}

Nanoseconds TraceArrivals::parse(std::string_view text) const {
  const bool whole = unit_ == TraceUnit::ns;
  const std::optional<int64_t> ns = whole ? parse_int(text) : std::nullopt;
  const std::optional<double> s = whole ? std::nullopt : parse_double(text);
  if (!ns && !s) {
    fail(fmt::format("'{}' is not an arrival time in {}", text, whole ? "whole nanoseconds (trace_unit=ns)" : "seconds (trace_unit=s)"));
  }
  if (ns.value_or(0) < 0 || s.value_or(0) < 0) fail(fmt::format("{} is before time 0", text));
  if (s.value_or(0) > latest_s) fail(fmt::format("{} seconds are more than 285 years; nanoseconds are read with trace_unit=ns", text));
  if (ns) return *ns;
  // The whole seconds apart: a double holds times of day to 240 ns, but not their nanoseconds.
  return static_cast<Nanoseconds>(*s) * 1'000'000'000 + std::llround((*s - std::floor(*s)) * 1e9);
}

void TraceArrivals::fail(const std::string& what) const {
  throw Error(ErrorKind::input, fmt::format("{}:{}: {}", path_, line_number_, what));
}

int64_t check_trace(const std::string& path, TraceUnit unit) {
  TraceArrivals arrivals(path, unit);
  int64_t count = 0;
  while (arrivals.next() != never) ++count;
  if (count == 0) throw Error(ErrorKind::input, fmt::format("the trace '{}' has no arrival in it", path));
  return count;
}

}  // namespace deepgap
