#include "analysis/predict/fit.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace deepgap {
namespace {

// The logarithms of what is searched for, in a fixed order.
struct Unknowns {
  std::vector<std::string> precisions;
  std::vector<double> values, begin;

  explicit Unknowns(const std::vector<MeasuredPoint>& points) {
    std::set<std::string> names;
    for (const MeasuredPoint& point : points) names.insert(point.precision);
    precisions.assign(names.begin(), names.end());
    values.assign(precisions.size(), std::log(0.4));
    for (const double start : {1.0, 0.7, 3e-6, 1e-5}) values.push_back(std::log(start));
    begin = values;
  }

  Efficiencies efficiencies() const {
    Efficiencies found;
    for (size_t i = 0; i < precisions.size(); ++i) found.arithmetic[precisions[i]] = std::exp(values[i]);
    const size_t rest = precisions.size();
    found.products = std::exp(values[rest]);
    found.memory = std::exp(values[rest + 1]);
    found.launch_s = std::exp(values[rest + 2]);
    found.query_s = std::exp(values[rest + 3]);
    return found;
  }
};

double miss(const MeasuredPoint& point, const Efficiencies& efficiencies) {
  return std::log(point.seconds / predicted_seconds(*point.network, point.batch, point.precision, *point.figures, efficiencies));
}

double sum_of_misses(const std::vector<MeasuredPoint>& points, const Unknowns& unknowns) {
  const Efficiencies efficiencies = unknowns.efficiencies();
  double sum = 0;
  for (const MeasuredPoint& point : points) sum += std::abs(miss(point, efficiencies));
  // What a few points do not decide stays near where it began; no share is above 1.
  for (size_t i = 0; i < unknowns.values.size(); ++i) sum += 0.05 * std::abs(unknowns.values[i] - unknowns.begin[i]);
  for (const auto& [name, share] : efficiencies.arithmetic)
    sum += 100 * std::max(0.0, std::log(share * std::max(1.0, efficiencies.products)));
  if (efficiencies.memory > 1) sum += 100 * std::log(efficiencies.memory);
  return sum;
}

Efficiencies search(const std::vector<MeasuredPoint>& points) {
  Unknowns unknowns(points);
  double least = sum_of_misses(points, unknowns);
  for (double step = 0.5; step > 0.004;) {
    const double before = least;
    for (double& value : unknowns.values) {
      const double held = value;
      double best = held;
      for (const double tried : {held + step, held - step}) {
        value = tried;
        if (const double sum = sum_of_misses(points, unknowns); sum < least) least = sum, best = tried;
      }
      value = best;
    }
    if (least > before - 1e-3) step /= 2;
  }
  return unknowns.efficiencies();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The factor is seen where activations are most of the memory, the rest where they are least.
void fit_memory(const std::vector<MeasuredPoint>& points, EngineFit& fit) {
  struct Row {
    double activations, beside_weights;  // bytes
  };
  std::vector<Row> rows;
  for (const MeasuredPoint& point : points) {
    const double element = element_bytes(point.precision);
    if (point.memory_bytes > 0)
      rows.push_back({element * point.batch * point.network->inputs + live_bytes(*point.network, point.batch, point.precision),
                      point.memory_bytes - element * point.network->weights - (point.network->state ? point.network->state->all() : 0)});
  }
  fit.memory_points = rows.size();
  if (rows.empty()) return;
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.activations < b.activations; });
  std::vector<double> factors, rest;
  for (size_t i = rows.size() / 2; i < rows.size(); ++i) factors.push_back(rows[i].beside_weights / rows[i].activations);
  fit.memory_factor = std::max(0.0, median(std::move(factors)));
  for (size_t i = 0; i < (rows.size() + 1) / 2; ++i) rest.push_back(rows[i].beside_weights - fit.memory_factor * rows[i].activations);
  fit.memory_rest_bytes = std::max(0.0, median(std::move(rest)));
}

// Least squares with no share below 0, coordinate after coordinate: three unknowns, a few dozen rows.
std::array<double, 3> power_shares(const std::vector<MeasuredPoint>& points, const Efficiencies& efficiencies) {
  struct Row {
    std::array<double, 3> x;
    double y;
  };
  std::vector<Row> rows;
  for (const MeasuredPoint& point : points) {
    if (point.power_w <= 0 || !point.figures->power_w) continue;
    const double seconds = predicted_seconds(*point.network, point.batch, point.precision, *point.figures, efficiencies);
    const auto used = used_shares(*point.network, point.batch, point.precision, *point.figures, seconds);
    rows.push_back({{1, used[0], used[1]}, point.power_w / *point.figures->power_w});
  }
  std::array<double, 3> shares{};
  for (int round = 0; round < 2000 && !rows.empty(); ++round)
    for (size_t i = 0; i < shares.size(); ++i) {
      double up = 0, down = 0;
      for (const Row& row : rows) {
        double rest = row.y;
        for (size_t j = 0; j < shares.size(); ++j) rest -= j == i ? 0 : shares[j] * row.x[j];
        up += rest * row.x[i];
        down += row.x[i] * row.x[i];
      }
      shares[i] = down > 0 ? std::max(0.0, up / down) : 0;
    }
  return shares;
}

using Fold = std::pair<std::string, std::string>;  // a model, a device; empty: any

std::set<Fold> folds_of(const std::vector<MeasuredPoint>& points, LeftOut left_out) {
  std::set<Fold> folds;
  for (const MeasuredPoint& point : points)
    folds.insert({left_out == LeftOut::device ? "" : point.model, left_out == LeftOut::model ? "" : point.device});
  return folds;
}

}  // namespace

EngineFit fit_engine(const std::vector<MeasuredPoint>& points) {
  EngineFit fit;
  fit.efficiencies = search(points);
  fit_memory(points, fit);
  fit.power_shares = power_shares(points, fit.efficiencies);
  return fit;
}

Misses misses(const std::vector<MeasuredPoint>& points, LeftOut left_out) {
  Misses found;
  for (const auto& [model, device] : folds_of(points, left_out)) {
    std::vector<MeasuredPoint> seen, unseen;
    for (const MeasuredPoint& point : points) {
      const bool of_model = !model.empty() && point.model == model, of_device = !device.empty() && point.device == device;
      if (left_out == LeftOut::both ? of_model && of_device : of_model || of_device)
        unseen.push_back(point);
      else if (!of_model && !of_device)
        seen.push_back(point);
    }
    if (seen.empty()) continue;
    const Efficiencies efficiencies = search(seen);
    ++found.fits;
    for (const MeasuredPoint& point : unseen)
      if (efficiencies.arithmetic.contains(point.precision)) found.log_ratios.push_back(miss(point, efficiencies));
  }
  return found;
}

Misses misses_of(const EngineFit& fit, const std::vector<MeasuredPoint>& unseen) {
  Misses found{.fits = 1};
  for (const MeasuredPoint& point : unseen)
    if (fit.efficiencies.arithmetic.contains(point.precision)) found.log_ratios.push_back(miss(point, fit.efficiencies));
  return found;
}

double band_ratio(const Misses& misses, double& share) {
  std::vector<double> sizes;
  for (const double ratio : misses.log_ratios) sizes.push_back(std::abs(ratio));
  std::sort(sizes.begin(), sizes.end());
  const auto count = static_cast<double>(sizes.size());
  const auto rank = static_cast<size_t>(std::ceil(share * (count + 1)));
  if (rank <= sizes.size()) return std::exp(sizes[rank - 1]);
  share = count / (count + 1);
  return sizes.empty() ? 0 : std::exp(sizes.back());
}

}  // namespace deepgap
