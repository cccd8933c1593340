#include "analysis/energy.h"

#include "analysis/steady.h"
#include "stats/interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr size_t least_readings = 3;    // power readings within a window: fewer do not estimate its mean
constexpr double wrap_j = 4294967.296;  // 2^32 mJ
// A counter is read up to one step late at either edge, evenly spread: the difference of the two is within this of a step in 95 %.
constexpr double edges_95 = 0.776;
constexpr size_t least_slices = 8, most_slices = 63;  // as many stretches as stats/correlated.h keeps
constexpr double steps_a_slice = 5, readings_a_slice = 2;

double seconds(Nanoseconds time) { return static_cast<double>(time) / 1e9; }

// The domain of a series of that kind; nullopt for a series of another kind.
std::optional<std::string> domain_of(const Series& series, const std::string& kind, const std::string& unit) {
  if (series.unit != unit || !series.name.starts_with(kind)) return std::nullopt;
  const std::string rest = series.name.substr(kind.size());
  if (rest.empty()) return "";
  return rest[0] == '.' ? std::optional(rest.substr(1)) : std::nullopt;
}

// The series that add up to the energy of the Point's devices; empty where one is missing.
std::vector<const Series*> series_of_placement(const Record& record, const std::string& kind, const std::string& unit) {
  std::vector<const Series*> found;
  for (const DeviceId& device : record.point.placement.devices) {
    const bool gpu = device.kind != "cpu";
    const std::string wanted = fmt::format("{}{}", device.kind, device.index);
    size_t of_device = 0;
    for (const Series& series : record.series) {
      const auto domain = domain_of(series, kind, unit);
      const bool is_gpu = domain && domain->starts_with("cuda");
      if (!domain || (gpu ? *domain != wanted : is_gpu)) continue;
      ++of_device;
      if (std::find(found.begin(), found.end(), &series) == found.end()) found.push_back(&series);
    }
    if (of_device == 0) return {};
  }
  return found;
}

// Adds up a Point's domains; nullopt where one has no value: a sum that lacks one is no sum.
template <typename OfSeries>
std::optional<Energy> sum_of(const std::vector<const Series*>& all, OfSeries of_series) {
  if (all.empty()) return std::nullopt;
  Energy total;
  for (const Series* series : all) {
    const std::optional<Energy> energy = of_series(*series);
    if (!energy) return std::nullopt;
    total.joules += energy->joules;
    total.half_width = both(total.half_width, energy->half_width);
  }
  return total;
}

// A counter made to grow forever: joules since its first reading, and how much of that was guessed.
class Unwrapped {
 public:
  explicit Unwrapped(const Series& counter) : times_(counter.times), joules_{0} {
    const double watts = typical_watts(counter);
    for (size_t i = 1; i < counter.values.size(); ++i) {
      const double before = counter.values[i - 1], after = counter.values[i];
      const double expected = watts * seconds(counter.times[i] - counter.times[i - 1]);
      const double across = wrap_j - before + after;  // if it wrapped
      double step = after - before;
      if (step < 0 && across >= 0 && across <= 3 * expected + watts * counter_step_s) step = across;
      if (step < 0) {  // it started again: what it had counted until then is lost
        step = std::max(after, expected);
        guesses_.push_back({counter.times[i - 1], counter.times[i], step});
      }
      joules_.push_back(joules_.back() + step);
    }
  }

  // Linear between readings; beyond them at the mean power. `distance` is to the nearest reading.
  double at(Nanoseconds t, Nanoseconds& distance) const {
    const auto after = static_cast<size_t>(std::lower_bound(times_.begin(), times_.end(), t) - times_.begin());
    const size_t i = std::clamp<size_t>(after, 1, times_.size() - 1);
    distance = std::min(std::abs(t - times_[i - 1]), std::abs(times_[i] - t));
    if (after == 0) return joules_.front() - watts() * seconds(times_.front() - t);
    if (after == times_.size()) return joules_.back() + watts() * seconds(t - times_.back());
    const double share = seconds(t - times_[i - 1]) / std::max(seconds(times_[i] - times_[i - 1]), 1e-9);
    return joules_[i - 1] + share * (joules_[i] - joules_[i - 1]);
  }
  double watts() const { return joules_.back() / std::max(seconds(times_.back() - times_.front()), 1e-9); }
  double guessed_in(const Window& window) const {
    double joules = 0;
    for (const Guess& guess : guesses_) joules += guess.end > window.begin && guess.begin < window.end ? guess.joules : 0;
    return joules;
  }

 private:
  struct Guess {
    Nanoseconds begin, end;
    double joules;
  };
  // Over the steps in which it did not fall.
  static double typical_watts(const Series& counter) {
    double joules = 0, time = 0;
    for (size_t i = 1; i < counter.values.size(); ++i) {
      if (counter.values[i] < counter.values[i - 1]) continue;
      joules += counter.values[i] - counter.values[i - 1];
      time += seconds(counter.times[i] - counter.times[i - 1]);
    }
    return time > 0 ? joules / time : 0;
  }

  const std::vector<Nanoseconds>& times_;
  std::vector<double> joules_;
  std::vector<Guess> guesses_;
};

// The readings around a window: the last one before it, those inside, the first one behind it.
Series around(const Series& series, const Window& window) {
  const auto begin = std::upper_bound(series.times.begin(), series.times.end(), window.begin) - series.times.begin();
  const auto end = std::lower_bound(series.times.begin(), series.times.end(), window.end) - series.times.begin();
  const auto first = std::max<std::ptrdiff_t>(begin - 1, 0);
  const auto last = std::max(first, std::min<std::ptrdiff_t>(end + 1, static_cast<std::ptrdiff_t>(series.times.size())));
  return {series.probe,
          series.name,
          series.unit,
          series.counter,
          {series.times.begin() + first, series.times.begin() + last},
          {series.values.begin() + first, series.values.begin() + last}};
}

std::optional<Energy> counted(const Series& counter, const Window& window) {
  if (!counter.counter || !encloses(counter, window)) return std::nullopt;
  const Series readings = around(counter, window);
  if (readings.times.size() < 2) return std::nullopt;
  const Unwrapped energy(readings);
  Nanoseconds begin_distance = 0, end_distance = 0;
  const double begin = energy.at(window.begin, begin_distance), end = energy.at(window.end, end_distance);
  const double watts = (end - begin) / seconds(window.end - window.begin);
  const double steps = edges_95 * watts * observed_step_s(readings, window);
  const double between_readings = both(watts * seconds(begin_distance), watts * seconds(end_distance));
  return Energy{end - begin, both(both(steps, between_readings), energy.guessed_in(window))};
}

// Returns the half-width for what happened between readings. It uses only the scatter that neighbours do not share (von Neumann 1941),
// because changes that last longer than the time between two readings were seen.
double half_width_between(const std::vector<double>& readings) {
  double squares = 0;
  for (size_t i = 1; i < readings.size(); ++i) squares += (readings[i] - readings[i - 1]) * (readings[i] - readings[i - 1]);
  const auto differences = static_cast<double>(readings.size() - 1);
  return student_factor(differences) * std::sqrt(squares / (2 * differences) / static_cast<double>(readings.size()));
}

std::optional<Energy> sampled(const Series& power, const Window& window) {
  const auto watts = time_average(power, window);
  if (!watts) return std::nullopt;
  const double length = seconds(window.end - window.begin);
  std::vector<double> inside;
  for (size_t i = 0; i < power.times.size(); ++i) {
    if (power.times[i] >= window.begin && power.times[i] <= window.end) inside.push_back(power.values[i]);
  }
  if (inside.size() < least_readings) return std::nullopt;
  return Energy{*watts * length, half_width_between(inside) * length};
}

// Slices of at least `shortest_s` each; 0: too few.
size_t slices_in(const Window& window, double shortest_s) {
  const double slices = seconds(window.end - window.begin) / std::max(shortest_s, 1e-9);
  return slices < static_cast<double>(least_slices) ? 0 : static_cast<size_t>(std::min(slices, static_cast<double>(most_slices)));
}

Window slice_of(const Window& window, size_t slice, size_t count) {
  const auto edge = [&](size_t i) {
    return window.begin +
           static_cast<Nanoseconds>(static_cast<double>(window.end - window.begin) * static_cast<double>(i) / static_cast<double>(count));
  };
  return {window.name, edge(slice), edge(slice + 1)};
}

void add_counted(const Series& counter, const Window& window, std::vector<double>& slices) {
  const Series readings = around(counter, window);
  const Unwrapped energy(readings);
  Nanoseconds ignored = 0;
  double before = energy.at(window.begin, ignored);
  for (size_t i = 0; i < slices.size(); ++i) {
    const double now = energy.at(slice_of(window, i, slices.size()).end, ignored);
    slices[i] += now - before;
    before = now;
  }
}

double reading_distance_s(const Series& series) {
  return seconds(series.times.back() - series.times.front()) / static_cast<double>(std::max<size_t>(series.times.size() - 1, 1));
}

}  // namespace

double both(double first_half_width, double second_half_width) { return std::hypot(first_half_width, second_half_width); }

double observed_step_s(const Series& counter, const Window& window) {
  Nanoseconds longest = 0;
  Nanoseconds changed = counter.times.empty() ? 0 : counter.times.front();
  for (size_t i = 1; i < counter.times.size(); ++i) {
    if (counter.values[i] != counter.values[i - 1]) {
      if (counter.times[i - 1] > changed && counter.times[i] > window.begin) longest = std::max(longest, counter.times[i] - changed);
      changed = counter.times[i];
    }
  }
  return std::max(counter_step_s, seconds(longest));
}

std::optional<Energy> counted_energy(const Record& record, const Window& window) {
  return sum_of(series_of_placement(record, "energy", "J"), [&](const Series& series) { return counted(series, window); });
}

std::optional<Energy> sampled_energy(const Record& record, const Window& window) {
  return sum_of(series_of_placement(record, "power", "W"), [&](const Series& series) { return sampled(series, window); });
}

std::vector<double> counted_slices(const Record& record, const Window& window) {
  if (!counted_energy(record, window)) return {};
  const auto all = series_of_placement(record, "energy", "J");
  double step_s = 0;
  for (const Series* series : all) step_s = std::max(step_s, observed_step_s(around(*series, window), window));
  std::vector<double> slices(slices_in(window, steps_a_slice * step_s));
  if (slices.empty()) return {};
  for (const Series* series : all) add_counted(*series, window, slices);
  return slices;
}

std::vector<double> sampled_slices(const Record& record, const Window& window) {
  if (!sampled_energy(record, window)) return {};
  const auto all = series_of_placement(record, "power", "W");
  double distance_s = 0;
  for (const Series* series : all) distance_s = std::max(distance_s, reading_distance_s(around(*series, window)));
  std::vector<double> slices(slices_in(window, readings_a_slice * distance_s));
  for (const Series* series : all) {
    for (size_t i = 0; i < slices.size(); ++i) {
      const Window slice = slice_of(window, i, slices.size());
      const auto watts = time_average(*series, slice);
      if (!watts) return {};
      slices[i] += *watts * seconds(slice.end - slice.begin);
    }
  }
  return slices;
}

}  // namespace deepgap
