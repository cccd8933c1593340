#include "stats/crossing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace deepgap {
namespace {

constexpr size_t fewest_runs = 4;
constexpr double near_by = 1.1;                // distance in the logit: a factor of three in the share
constexpr double near_in_load = 0.03;          // distance in the logarithm of the load, where shares grow so fast that few runs lie nearer
constexpr size_t fewest_for_an_interval = 16;  // fewer do not show how much they scatter, and a slope that looks known is so by chance
constexpr size_t fewest_near = 10;             // the nearest ones count however far they are
constexpr int most_steps = 60, most_selections = 8;
constexpr double steepest = 400;  // no queue's share grows faster

double logit(double share) { return std::log(share / (1 - share)); }
double share_at(double logit) { return 1 / (1 + std::exp(-logit)); }

// logit of the share = level + slope * x, x being the logarithm of the load over that of `origin`.
struct Line {
  double level = 0, slope = 0;
  double var_level = 0, var_slope = 0, covariance = 0;  // from binomial counts

  double at(double x) const { return level + slope * x; }
};

struct Seen {
  double x = 0, queries = 0, late = 0;
};

// Fits by Newton's method; nullopt where the counts do not determine a line.
std::optional<Line> fit(const std::vector<Seen>& runs) {
  double queries = 0, late = 0;
  for (const Seen& run : runs) {
    queries += run.queries;
    late += run.late;
  }
  if (!(late > 0) || !(late < queries)) return std::nullopt;
  Line line;
  line.level = logit(late / queries);
  for (int step = 0; step < most_steps; ++step) {
    double g0 = 0, g1 = 0, h00 = 0, h01 = 0, h11 = 0;
    for (const Seen& run : runs) {
      const double share = share_at(line.at(run.x)), weight = run.queries * share * (1 - share), left = run.late - run.queries * share;
      g0 += left;
      g1 += left * run.x;
      h00 += weight;
      h01 += weight * run.x;
      h11 += weight * run.x * run.x;
    }
    const double determinant = h00 * h11 - h01 * h01;
    if (!(determinant > 1e-9 * h00 * h11)) return std::nullopt;
    const double d0 = (h11 * g0 - h01 * g1) / determinant, d1 = (h00 * g1 - h01 * g0) / determinant;
    const double shrink = 1 / std::max({1.0, std::abs(d0) / 2, std::abs(d1) / std::max(5.0, std::abs(line.slope))});
    line.level += d0 * shrink;
    line.slope += d1 * shrink;
    line.var_level = h11 / determinant;
    line.var_slope = h00 / determinant;
    line.covariance = -h01 / determinant;
    if (!std::isfinite(line.level) || !std::isfinite(line.slope) || std::abs(line.slope) > steepest) return std::nullopt;
    if (std::abs(d0) < 1e-9 && std::abs(d1) < 1e-9) return line;
  }
  return std::nullopt;
}

// Returns how many times the binomial variance the counts scatter by round the line.
double dispersion(const std::vector<Seen>& runs, const Line& line) {
  double sum = 0;
  for (const Seen& run : runs) {
    const double share = share_at(line.at(run.x)), left = run.late - run.queries * share;
    sum += left * left / (run.queries * share * (1 - share));
  }
  return std::max(1.0, sum / (static_cast<double>(runs.size()) - 2));
}

// Returns the runs near the place where the line meets `target`.
std::vector<Seen> near_ones(const std::vector<Seen>& all, const Line& line, double target) {
  const auto distance = [&](const Seen& run) { return std::abs(line.at(run.x) - target); };
  std::vector<double> distances;
  for (const Seen& run : all) distances.push_back(distance(run));
  const size_t rank = std::min(fewest_near, distances.size()) - 1;
  std::nth_element(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(rank), distances.end());
  const double farthest = std::max({near_by, near_in_load * line.slope, distances[rank]});
  std::vector<Seen> near;
  std::copy_if(all.begin(), all.end(), std::back_inserter(near), [&](const Seen& run) { return distance(run) <= farthest; });
  return near;
}

// Returns where the line meets `target`, by x: the roots of (level + slope x - target)^2 = t^2 var(level + slope x).
std::optional<Interval> fieller(const Line& line, double target, double widening) {
  const double level = line.level - target;
  const double a = line.slope * line.slope - widening * line.var_slope;
  const double b = line.slope * level - widening * line.covariance;
  const double c = level * level - widening * line.var_level;
  const double root = b * b - a * c;
  if (!(a > 0) || !(root >= 0)) return std::nullopt;
  return Interval{(-b - std::sqrt(root)) / a, (-b + std::sqrt(root)) / a};
}

}  // namespace

std::optional<Crossing> find_crossing(std::span<const LoadRun> runs, double allowed_share) {
  const double target = logit(allowed_share);
  double origin = 0, count = 0;
  for (const LoadRun& run : runs) {
    if (!(run.load > 0) || !(run.queries > 0)) continue;
    origin += std::log(run.load);
    ++count;
  }
  if (count < static_cast<double>(fewest_runs)) return std::nullopt;
  origin /= count;
  std::vector<Seen> all;
  for (const LoadRun& run : runs)
    if (run.load > 0 && run.queries > 0) all.push_back({std::log(run.load) - origin, run.queries, std::min(run.late, run.queries)});
  std::vector<Seen> near = all;
  std::optional<Line> line;
  for (int selection = 0; selection < most_selections; ++selection) {
    line = near.size() < fewest_runs ? std::nullopt : fit(near);
    if (!line || !(line->slope > 0)) return std::nullopt;
    std::vector<Seen> next = near_ones(all, *line, target);
    if (next.size() == near.size()) break;
    near = std::move(next);
  }
  Crossing crossing;
  crossing.load = std::exp((target - line->level) / line->slope + origin);
  crossing.slope = line->slope;
  crossing.runs = near.size();
  const double times = dispersion(near, *line);
  crossing.slope_high = line->slope + 2 * std::sqrt(times * line->var_slope);
  const double t = student_factor(static_cast<double>(near.size()) - 2);
  const auto x = near.size() < fewest_for_an_interval ? std::nullopt : fieller(*line, target, t * t * times);
  if (x) crossing.interval = Interval{std::exp(x->low + origin), std::exp(x->high + origin)};
  return crossing;
}

}  // namespace deepgap
