#include "analysis/predict/predict.h"

#include <algorithm>

namespace deepgap {

Predictor::Predictor(std::vector<MeasuredPoint> measured, std::vector<MeasuredPoint> across)
    : measured_(std::move(measured)), across_(std::move(across)), fit_(fit_engine(measured_)) {}

const Misses& Predictor::misses_of(LeftOut left_out) {
  const auto known = misses_.find(left_out);
  return known != misses_.end() ? known->second : misses_.emplace(left_out, misses(measured_, left_out)).first->second;
}

// The kind that is asked about, else, where too little was measured to leave that out, the next that can be tried.
LeftOut Predictor::tried(LeftOut wanted) {
  for (const LeftOut kind : {wanted, LeftOut::device, LeftOut::model})
    if (!misses_of(kind).log_ratios.empty()) return kind;
  return wanted;
}

Band Predictor::band(const std::string& model, const DeviceFigures& device, double share) {
  const auto any = [&](const auto& test) { return std::any_of(measured_.begin(), measured_.end(), test); };
  const bool device_known = any([&](const MeasuredPoint& point) { return point.device == device.name; });
  const bool model_known = any([&](const MeasuredPoint& point) { return point.model == model; });
  Band band{.share = share};
  band.left_out = tried(device_known ? LeftOut::model : model_known ? LeftOut::device : LeftOut::both);
  band.other_architecture = !any([&](const MeasuredPoint& point) { return point.figures->architecture == device.architecture; });
  const Misses& own = misses_of(band.left_out);
  band.points = own.log_ratios.size();
  if (!own.log_ratios.empty()) band.ratio = band_ratio(own, band.share);
  return band.other_architecture ? widened(band) : band;
}

// How far an engine's efficiency goes from one architecture to another only engines that were measured on several can tell.
Band Predictor::widened(Band band) {
  if (!across_misses_) across_misses_ = misses(across_, LeftOut::device);
  Band across{.share = band.share, .left_out = LeftOut::device, .other_architecture = true, .points = across_misses_->log_ratios.size()};
  if (across.points == 0) return across;
  across.ratio = band_ratio(*across_misses_, across.share);
  return across.ratio > band.ratio ? across : band;
}

Prediction Predictor::predict(const NetworkNeeds& network, const std::string& model, double batch, const std::string& precision,
                              const DeviceFigures& device, const Band& band) const {
  Prediction found{.seconds = predicted_seconds(network, batch, precision, device, fit_.efficiencies)};
  if (band.ratio > 0) {
    found.low = found.seconds / band.ratio;
    found.high = found.seconds * band.ratio;
  }
  const double element = element_bytes(precision);
  found.memory_bytes =
      element * (network.weights + fit_.memory_factor * batch * (network.inputs + network.live_activations)) + fit_.memory_rest_bytes;
  if (device.memory_bytes) found.fits = found.memory_bytes < *device.memory_bytes;
  if (device.power_w && fit_.power_shares[0] > 0) {
    const auto used = used_shares(network, batch, precision, device, found.seconds);
    const double share = fit_.power_shares[0] + fit_.power_shares[1] * used[0] + fit_.power_shares[2] * used[1];
    found.power_w = *device.power_w * std::min(1.0, share);
    found.energy_j_per_item = *found.power_w * found.seconds / batch;
  }
  for (const MeasuredPoint& point : measured_)
    if (point.model == model && point.device == device.name && point.precision == precision && point.batch == batch)
      found.measured_seconds = point.seconds;
  return found;
}

}  // namespace deepgap
