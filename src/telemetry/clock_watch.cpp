#include "telemetry/clock_watch.h"

#include <cmath>
#include <numeric>

namespace deepgap {
namespace {

constexpr double tolerance = 0.01;
constexpr size_t readings_below_limit = 3, readings_at_limit = 10;

double mean(std::vector<double>::const_iterator begin, std::vector<double>::const_iterator end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

// Returns whether the mean of the last `count` values is within the tolerance of the mean of those before them.
bool is_level(const std::vector<double>& values, size_t count) {
  if (values.size() < 2 * count) return false;
  const auto part = static_cast<std::ptrdiff_t>(count);
  const double last = mean(values.end() - part, values.end()), before = mean(values.end() - 2 * part, values.end() - part);
  return std::abs(last - before) <= tolerance * before;
}

}  // namespace

ClockWatch::ClockWatch(std::vector<GpuReader> gpus) : settled_(gpus.empty()) {
  for (GpuReader& read : gpus) gpus_.push_back({std::move(read), {}});
}

bool ClockWatch::settled(Nanoseconds now) {
  if (gpus_.empty() || now < next_) return settled_;
  next_ = now + period;
  settled_ = true;
  at_power_limit_ = false;
  for (Gpu& gpu : gpus_) settled_ &= take_reading(gpu);
  return settled_;
}

bool ClockWatch::take_reading(Gpu& gpu) {
  const GpuReading reading = gpu.read();
  if (reading.sm_hz == 0) return true;
  const bool limited = is_at_power_limit(reading);
  at_power_limit_ |= limited;
  gpu.clocks_hz.push_back(reading.sm_hz);
  return is_level(gpu.clocks_hz, limited ? readings_at_limit : readings_below_limit);
}

}  // namespace deepgap
