// Measurements by deepgap's makers, packed into the program, by engine: predictions are fitted to them if the user has no Store.
#pragma once

#include "analysis/predict/cost_model.h"

#include <string>
#include <vector>

namespace deepgap {

// The kinds of Points; each has fits of its own.
enum class MeasuredKind { gpu, training, cpu };  // inference on GPUs, training on GPUs, inference on CPUs

struct MeasuredRow {
  std::string model, device, precision;  // device: the driver's name for it; for a CPU, one in packed_cpus()
  double batch = 1, seconds = 0;         // seconds: per batch, or per step
  double memory_bytes = 0, power_w = 0;  // 0: not known
  // The following are for training.
  std::string optimizer = {};
  std::array<double, step_parts> part_seconds{};  // 0: not known
  double activation_bytes = 0;                    // 0: not known
};

std::vector<std::string> measured_engines(MeasuredKind kind);
// Returns the packed rows of an engine; empty if there are none.
std::vector<MeasuredRow> measured_rows(MeasuredKind kind, const std::string& engine);
// CPUs that rows name, as their ceilings were measured.
std::vector<DeviceFigures> packed_cpus();

}  // namespace deepgap
