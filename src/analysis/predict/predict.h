// Predictions of Points that were not measured, each with a band made of how far off such predictions were elsewhere.
#pragma once

#include "analysis/predict/fit.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Memory of a training by kind, bytes. The last: inputs, values that live for a moment, workspaces.
struct MemoryParts {
  TrainingState state;
  double activations = 0, other = 0;
};

struct Prediction {
  double seconds = 0;                   // seconds per batch, or per step
  std::optional<double> low, high;      // the band; absent where nothing can be said
  std::optional<double> memory_bytes;   // device memory in use; absent: not known for this engine
  std::optional<bool> fits;             // absent: the device's memory is not known
  std::optional<double> largest_batch;  // that fits, whole; 0: none does
  std::optional<double> power_w, energy_j_per_item;
  std::optional<double> measured_seconds;                      // the Point itself, where it is among what was fitted
  std::optional<std::array<double, step_parts>> part_seconds;  // parts of a step
  std::optional<MemoryParts> memory_parts;                     // memory of a training by part
};

// The basis of a device's band.
struct Band {
  double ratio = 0;  // 1.2: from time / 1.2 to time * 1.2; 0: nothing to make it of
  double share = 0;  // share of predictions within the band
  LeftOut left_out = LeftOut::model;
  bool other_architecture = false;  // nothing of the device's architecture was measured with this engine
  bool only_device = false;         // ... but one device alone, and not this one: no other can be left out
  size_t points = 0;                // behind it
};

// One engine. Fitting takes part of a second; each kind of band is made once, when first asked for.
class Predictor {
 public:
  // `measured` of one engine, not empty; `across` of an engine that was measured on several architectures, for bands where this one was
  // not, or on one device alone; `is_this_engine`: they are of the same kernels, measured by others on devices that are not among
  // `measured`, so that its own fit is held against them, and else they are fitted by themselves with devices left out.
  Predictor(std::vector<MeasuredPoint> measured, std::vector<MeasuredPoint> across, bool is_this_engine = false);

  // `share` of predictions that the band is to hold.
  Band band(const std::string& model, const DeviceFigures& device, double share);
  // Throws Error{usage} for a precision that the device has no units for, or of which nothing was measured.
  // `setting`: as MeasuredPoint has it.
  Prediction predict(const NetworkNeeds& network, const std::string& model, double batch, const std::string& precision,
                     const DeviceFigures& device, const Band& band, const std::string& setting = "") const;

  const EngineFit& fit() const { return fit_; }
  const std::vector<MeasuredPoint>& measured() const { return measured_; }

 private:
  const Misses& misses_of(LeftOut left_out);
  LeftOut tried(LeftOut wanted);
  Band widened(Band band);
  void predict_memory(const NetworkNeeds& network, double batch, const std::string& precision, const DeviceFigures& device,
                      Prediction& found) const;

  std::vector<MeasuredPoint> measured_, across_;
  bool is_this_engine_;
  EngineFit fit_;
  std::map<LeftOut, Misses> misses_;
  std::optional<Misses> across_misses_;
};

}  // namespace deepgap
