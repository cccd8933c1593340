// The efficiencies of one engine from measured Points, and how far off they are where they were not fitted.
#pragma once

#include "analysis/predict/cost_model.h"

#include <string>
#include <vector>

namespace deepgap {

// A Point that was measured: which network, where, how, and what came out.
struct MeasuredPoint {
  std::string model, device, precision;
  double batch = 1;
  double seconds = 0;       // seconds per batch
  double memory_bytes = 0;  // 0: not known
  double power_w = 0;       // 0: not known
  const NetworkNeeds* network = nullptr;
  const DeviceFigures* figures = nullptr;
  std::string setting = {};                       // for training: the optimizer
  std::array<double, step_parts> part_seconds{};  // for training; 0: not known
  double activation_bytes = 0;                    // for training: bytes that the forward pass leaves; 0: not known
};

struct EngineFit {
  Efficiencies efficiencies;
  double memory_factor = 1;  // bytes in use are weights, or what training holds, + factor * (inputs + live activations) + rest
  double memory_rest_bytes = 0;
  size_t memory_points = 0;              // points behind it; 0: their memory was not measured
  std::array<double, 3> power_shares{};  // shares of the power limit: idle, and by used_shares()
};

// Least sum of |log(measured / predicted)|, by a pattern search from a fixed start: the same points give the same fit. Every precision of
// `points` gets an efficiency; the rest is shared by all of them. Not empty.
EngineFit fit_engine(const std::vector<MeasuredPoint>& points);

// The part that is left out to see how far off a prediction of that kind is.
enum class LeftOut { model, device, both };

struct Misses {
  std::vector<double> log_ratios;  // measured over predicted, of points that the fit had not seen
  size_t fits = 0;
};
// Each model, device or pair left out once and predicted from the others. A fold whose precisions the rest does not have is passed over.
Misses misses(const std::vector<MeasuredPoint>& points, LeftOut left_out);

// Returns how far predictions missed points on other devices that the fit had not seen, in precisions that it has.
Misses misses_of(const EngineFit& fit, const std::vector<MeasuredPoint>& unseen);

// Half-width, as a ratio above 1, of a band that holds so large a share of predictions: the split-conformal quantile (Vovk et al. 2005) of
// the misses. Where there are too few for the share, the largest miss, and `share` becomes what that holds.
double band_ratio(const Misses& misses, double& share);

}  // namespace deepgap
