// How far off `deepgap predict` is: each network, each GPU, or both are left out of what it is fitted to, and foretold. With Stores, also
// how many of their Points lie in the bands made of the packed figures alone: those Points are news to it where they are not packed.
//   predict_misses [STORE...]
#include "analysis/predict/measured_rows.h"
#include "analysis/predict/predict.h"
#include "cli/predict_points.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>
#include <tuple>

namespace deepgap {
namespace {

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

void print_misses(const char* left_out, const Misses& found) {
  if (found.log_ratios.empty()) return;
  std::vector<double> sizes;
  for (const double ratio : found.log_ratios) sizes.push_back(std::exp(std::abs(ratio)) - 1);
  fmt::print("  {:<18} {:>3} fits {:>4} points  median {:>3.0f} %  nine of ten {:>3.0f} %  worst {:>3.0f} %\n", left_out, found.fits,
             sizes.size(), 100 * quantile(sizes, 0.5), 100 * quantile(sizes, 0.9), 100 * quantile(sizes, 1));
}

// Memory of each network as its fit without it foretells.
void print_memory(const std::vector<MeasuredPoint>& points) {
  std::set<std::string> models;
  for (const MeasuredPoint& point : points)
    if (point.memory_bytes > 0) models.insert(point.model);
  std::vector<double> sizes;
  for (const std::string& model : models) {
    std::vector<MeasuredPoint> seen;
    std::copy_if(points.begin(), points.end(), std::back_inserter(seen), [&](const MeasuredPoint& point) { return point.model != model; });
    if (seen.empty()) continue;
    Predictor predictor(seen, {});
    for (const MeasuredPoint& point : points) {
      if (point.model != model || point.memory_bytes <= 0 || !predictor.fit().efficiencies.arithmetic.contains(point.precision)) continue;
      const double bytes = predictor.predict(*point.network, model, point.batch, point.precision, *point.figures, {}).memory_bytes;
      sizes.push_back(std::exp(std::abs(std::log(point.memory_bytes / bytes))) - 1);
    }
  }
  if (!sizes.empty())
    fmt::print("  {:<18}           {:>4} points  median {:>3.0f} %  nine of ten {:>3.0f} %  worst {:>3.0f} %\n", "memory", sizes.size(),
               100 * quantile(sizes, 0.5), 100 * quantile(sizes, 0.9), 100 * quantile(sizes, 1));
}

using Key = std::tuple<std::string, std::string, std::string, double>;
Key key_of(const MeasuredPoint& point) { return {point.model, point.device, point.precision, point.batch}; }

void print_news(const std::string& engine, const std::vector<MeasuredPoint>& packed, const std::vector<MeasuredPoint>& all) {
  std::set<Key> known;
  for (const MeasuredPoint& point : packed) known.insert(key_of(point));
  Predictor predictor(packed, {});
  size_t news = 0, held = 0;
  std::vector<double> sizes;
  for (const MeasuredPoint& point : all) {
    if (known.contains(key_of(point))) continue;
    const Band band = predictor.band(point.model, *point.figures, 0.9);
    try {
      const Prediction found = predictor.predict(*point.network, point.model, point.batch, point.precision, *point.figures, band);
      if (!found.low) continue;
      ++news;
      held += point.seconds >= *found.low && point.seconds <= *found.high ? 1 : 0;
      sizes.push_back(std::exp(std::abs(std::log(point.seconds / found.seconds))) - 1);
    } catch (const Error& error) {
      fmt::print("  {} {}: {}\n", engine, point.model, error.what());
    }
  }
  if (news > 0)
    fmt::print("  {} points that are not packed: {} in their bands, median miss {:.0f} %\n", news, held, 100 * quantile(sizes, 0.5));
}

void evaluate(const std::string& engine, const std::vector<std::string>& stores) {
  Networks networks;
  Devices devices;
  const auto packed = measured_points(engine, {}, networks, devices);
  fmt::print("{}: {} points\n", engine, packed.size());
  print_misses("network left out", misses(packed, LeftOut::model));
  print_misses("GPU left out", misses(packed, LeftOut::device));
  print_misses("both left out", misses(packed, LeftOut::both));
  print_memory(packed);
  if (!stores.empty()) print_news(engine, packed, measured_points(engine, stores, networks, devices));
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  try {
    for (const std::string& engine : deepgap::measured_engines()) deepgap::evaluate(engine, {argv + 1, argv + argc});
    return 0;
  } catch (const deepgap::Error& error) {
    std::fprintf(stderr, "predict_misses: %s\n", error.what());
    return 1;
  }
}
