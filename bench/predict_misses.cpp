// Measures how far off `deepgap predict` is: each network, each GPU, or both are left out of what it is fitted to, and predicted. With
// Stores, also counts their Points in the bands made of the packed figures alone: Points that are not packed are news to it.
//   predict_misses [STORE...]
#include "analysis/predict/measured_rows.h"
#include "analysis/predict/predict.h"
#include "cli/predict_points.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
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

std::vector<MeasuredPoint> without(const std::vector<MeasuredPoint>& points, const std::string& model) {
  std::vector<MeasuredPoint> seen;
  std::copy_if(points.begin(), points.end(), std::back_inserter(seen), [&](const MeasuredPoint& point) { return point.model != model; });
  return seen;
}

// Memory of each network as its fit without it predicts.
void print_memory(const std::vector<MeasuredPoint>& points) {
  std::set<std::string> models;
  for (const MeasuredPoint& point : points)
    if (point.memory_bytes > 0) models.insert(point.model);
  std::vector<double> sizes;
  for (const std::string& model : models) {
    const std::vector<MeasuredPoint> seen = without(points, model);
    if (seen.empty()) continue;
    Predictor predictor(seen, {});
    for (const MeasuredPoint& point : points) {
      if (point.model != model || point.memory_bytes <= 0 || !predictor.fit().efficiencies.arithmetic.contains(point.precision)) continue;
      const double bytes = predictor.predict(*point.network, model, point.batch, point.precision, *point.figures, {}, point.setting)
                               .memory_bytes.value_or(0);
      if (bytes <= 0) continue;
      sizes.push_back(std::exp(std::abs(std::log(point.memory_bytes / bytes))) - 1);
    }
  }
  if (!sizes.empty())
    fmt::print("  {:<18}           {:>4} points  median {:>3.0f} %  nine of ten {:>3.0f} %  worst {:>3.0f} %\n", "memory", sizes.size(),
               100 * quantile(sizes, 0.5), 100 * quantile(sizes, 0.9), 100 * quantile(sizes, 1));
}

using Key = std::tuple<std::string, std::string, std::string, double, std::string>;
Key key_of(const MeasuredPoint& point) { return {point.model, point.device, point.precision, point.batch, point.setting}; }

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
      const Prediction found =
          predictor.predict(*point.network, point.model, point.batch, point.precision, *point.figures, band, point.setting);
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

// Parts of a step and what its forward pass keeps, of each network as its fit without it predicts.
void print_training(const std::vector<MeasuredPoint>& points) {
  std::set<std::string> models;
  for (const MeasuredPoint& point : points) models.insert(point.model);
  std::array<std::vector<double>, step_parts + 1> sizes;
  for (const std::string& model : models) {
    const std::vector<MeasuredPoint> seen = without(points, model);
    if (seen.empty()) continue;
    Predictor predictor(seen, {});
    for (const MeasuredPoint& point : points) {
      if (point.model != model || !predictor.fit().efficiencies.arithmetic.contains(point.precision)) continue;
      const Prediction found = predictor.predict(*point.network, model, point.batch, point.precision, *point.figures, {}, point.setting);
      const auto add = [&](size_t kind, double measured, double foretold) {
        if (measured > 0 && foretold > 0) sizes.at(kind).push_back(std::exp(std::abs(std::log(measured / foretold))) - 1);
      };
      for (size_t part = 0; part < step_parts; ++part) add(part, point.part_seconds.at(part), found.part_seconds->at(part));
      if (found.memory_parts) add(step_parts, point.activation_bytes, found.memory_parts->activations);
    }
  }
  const std::array names{"forward", "backward", "update", "activations"};
  for (size_t kind = 0; kind < sizes.size(); ++kind)
    if (!sizes.at(kind).empty())
      fmt::print("  {:<18}           {:>4} points  median {:>3.0f} %  nine of ten {:>3.0f} %  worst {:>3.0f} %\n", names.at(kind),
                 sizes.at(kind).size(), 100 * quantile(sizes.at(kind), 0.5), 100 * quantile(sizes.at(kind), 0.9),
                 100 * quantile(sizes.at(kind), 1));
}

// DEEPGAP_PREDICT_POINTS=1: each Point beside the fit that has seen it.
void print_points(const std::vector<MeasuredPoint>& points) {
  if (std::getenv("DEEPGAP_PREDICT_POINTS") == nullptr) return;
  Predictor predictor(points, {});
  const Efficiencies& fitted = predictor.fit().efficiencies;
  for (const auto& [precision, share] : fitted.arithmetic) fmt::print("  {} {:.3f}", precision, share);
  fmt::print("  products {:.2f} memory {:.2f} launch {:.2f} us query {:.1f} us\n", fitted.products, fitted.memory, 1e6 * fitted.launch_s,
             1e6 * fitted.query_s);
  for (const MeasuredPoint& point : points) {
    const Prediction found =
        predictor.predict(*point.network, point.model, point.batch, point.precision, *point.figures, {}, point.setting);
    fmt::print("  {:<20} {:<16} {:<6} {:>5} {:<9} {:>9.3f} ms, foretold {:>9.3f} ({:.2f})", point.model, point.device, point.precision,
               point.batch, point.setting, 1e3 * point.seconds, 1e3 * found.seconds, found.seconds / point.seconds);
    if (point.memory_bytes > 0 && found.memory_bytes)
      fmt::print("  {:>7.0f} MiB, {:>7.0f}", point.memory_bytes / 1048576, *found.memory_bytes / 1048576);
    if (point.activation_bytes > 0 && found.memory_parts)
      fmt::print("  kept {:>7.0f}, {:>7.0f}", point.activation_bytes / 1048576, found.memory_parts->activations / 1048576);
    fmt::print("\n");
  }
}

void evaluate(MeasuredKind kind, const std::string& engine, const std::vector<std::string>& stores) {
  Networks networks;
  Devices devices;
  const auto packed = measured_points(kind, engine, {}, networks, devices);
  fmt::print("{}{}: {} points\n", engine,
             kind == MeasuredKind::training ? ", training"
             : kind == MeasuredKind::cpu    ? ", CPU"
                                            : "",
             packed.size());
  print_misses("network left out", misses(packed, LeftOut::model));
  print_misses("device left out", misses(packed, LeftOut::device));
  print_misses("both left out", misses(packed, LeftOut::both));
  print_memory(packed);
  if (kind == MeasuredKind::training) print_training(packed);
  // Others' steps on other cards, by the fit of all of these.
  if (kind == MeasuredKind::training && engine != "pytorch")
    print_misses("published elsewhere", misses_of(fit_engine(packed), measured_points(kind, "pytorch", {}, networks, devices)));
  print_points(packed);
  if (!stores.empty()) print_news(engine, packed, measured_points(kind, engine, stores, networks, devices));
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  try {
    using deepgap::MeasuredKind;
    for (const MeasuredKind kind : {MeasuredKind::gpu, MeasuredKind::training, MeasuredKind::cpu})
      for (const std::string& engine : deepgap::measured_engines(kind)) deepgap::evaluate(kind, engine, {argv + 1, argv + argc});
    return 0;
  } catch (const deepgap::Error& error) {
    std::fprintf(stderr, "predict_misses: %s\n", error.what());
    return 1;
  }
}
