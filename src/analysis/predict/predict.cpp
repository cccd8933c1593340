#include "analysis/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace deepgap {

Predictor::Predictor(std::vector<MeasuredPoint> measured, std::vector<MeasuredPoint> across, bool is_this_engine)
    : measured_(std::move(measured)), across_(std::move(across)), is_this_engine_(is_this_engine), fit_(fit_engine(measured_)) {}

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
  band.only_device = !device_known && misses_of(LeftOut::device).log_ratios.empty();
  return band.other_architecture || band.only_device ? widened(band) : band;
}

// Widens the band by how far an engine's efficiency differs between devices or architectures; only engines measured on several show that.
Band Predictor::widened(Band band) {
  if (!across_misses_) across_misses_ = is_this_engine_ ? deepgap::misses_of(fit_, across_) : misses(across_, LeftOut::device);
  Band across{.share = band.share,
              .left_out = LeftOut::device,
              .other_architecture = band.other_architecture,
              .only_device = band.only_device,
              .points = across_misses_->log_ratios.size()};
  if (across.points == 0) return across;
  across.ratio = band_ratio(*across_misses_, across.share);
  return across.ratio > band.ratio ? across : band;
}

Prediction Predictor::predict(const NetworkNeeds& network, const std::string& model, double batch, const std::string& precision,
                              const DeviceFigures& device, const Band& band, const std::string& setting) const {
  const auto parts = predicted_parts(network, batch, precision, device, fit_.efficiencies);
  Prediction found{.seconds = std::accumulate(parts.begin(), parts.end(), 0.0)};
  if (network.state) found.part_seconds = parts;
  if (band.ratio > 0) {
    found.low = found.seconds / band.ratio;
    found.high = found.seconds * band.ratio;
  }
  if (fit_.memory_points > 0) predict_memory(network, batch, precision, device, found);
  if (device.power_w && fit_.power_shares[0] > 0) {
    const auto used = used_shares(network, batch, precision, device, found.seconds);
    const double share = fit_.power_shares[0] + fit_.power_shares[1] * used[0] + fit_.power_shares[2] * used[1];
    found.power_w = *device.power_w * std::min(1.0, share);
    found.energy_j_per_item = *found.power_w * found.seconds / batch;
  }
  for (const MeasuredPoint& point : measured_)
    if (point.model == model && point.device == device.name && point.precision == precision && point.batch == batch &&
        point.setting == setting)
      found.measured_seconds = point.seconds;
  return found;
}

void Predictor::predict_memory(const NetworkNeeds& network, double batch, const std::string& precision, const DeviceFigures& device,
                               Prediction& found) const {
  const double element = element_bytes(precision);
  const double held = element * network.weights + (network.state ? network.state->all() : 0) + fit_.memory_rest_bytes;
  const auto live = [&](double items) {
    return fit_.memory_factor * (element * items * network.inputs + live_bytes(network, items, precision));
  };
  const double whatever_batch = held + live(0), an_item = live(1) - live(0);
  found.memory_bytes = held + live(batch);
  if (device.memory_bytes) {
    found.fits = *found.memory_bytes < *device.memory_bytes;
    if (an_item > 0) found.largest_batch = std::max(0.0, std::ceil((*device.memory_bytes - whatever_batch) / an_item) - 1);
  }
  if (!network.state) return;
  MemoryParts& parts = found.memory_parts.emplace(MemoryParts{.state = *network.state});
  parts.activations = live_bytes(network, batch, precision);
  parts.other = std::max(0.0, *found.memory_bytes - parts.state.all() - parts.activations);
}

}  // namespace deepgap
