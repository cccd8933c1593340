#include "analysis/predict/cost_model.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace deepgap {
namespace {

double peak_of(const DeviceFigures& device, const std::string& precision) {
  const auto found = device.flop_per_s.find(precision == "mixed" ? "fp16" : precision);
  if (found != device.flop_per_s.end()) return found->second;
  throw Error(ErrorKind::usage, fmt::format("{} has no units for {}, as far as its {}", device.name, precision,
                                            device.bytes_per_s_by_footprint.empty() ? "data sheet gives" : "measured peaks give"));
}

double bytes_of(const KernelNeeds& kernel, double batch, double element) {
  if (kernel.only_in_16_bits && element != 2) return 0;
  return element * (batch * kernel.activations + kernel.weights) + sizeof(float) * batch * kernel.wide_activations + kernel.fixed_bytes;
}

// So many bytes may lie in any cache that is large enough for them: the highest of those.
double bandwidth_of(const DeviceFigures& device, double bytes) {
  double best = 0;
  for (auto place = device.bytes_per_s_by_footprint.rbegin(); place != device.bytes_per_s_by_footprint.rend(); ++place) {
    best = std::max(best, place->second);
    if (place->first <= bytes) break;
  }
  return best > 0 ? best : device.bytes_per_s;
}

}  // namespace

double element_bytes(const std::string& precision) {
  if (precision == "int8" || precision == "fp8") return 1;
  return precision == "fp16" || precision == "bf16" || precision == "mixed" ? 2 : 4;
}

double live_bytes(const NetworkNeeds& network, double batch, const std::string& precision) {
  const double element = element_bytes(precision);
  double bytes = element * batch * network.live_activations;
  if (!network.state) return bytes;
  const TrainingState& state = *network.state;
  bytes += sizeof(float) * batch * state.kept_wide;
  return bytes + (element == 2 ? 2 * (batch * state.kept_copies + state.copied_weights) : element * batch * state.kept_only_in_32_bits);
}

std::array<double, step_parts> predicted_parts(const NetworkNeeds& network, double batch, const std::string& precision,
                                               const DeviceFigures& device, const Efficiencies& efficiencies) {
  const auto reached = efficiencies.arithmetic.find(precision);
  if (reached == efficiencies.arithmetic.end())
    throw Error(ErrorKind::usage, fmt::format("there is no measured point in {} to predict others from", precision));
  const double convolutions = peak_of(device, precision) * reached->second, products = convolutions * efficiencies.products;
  const double element = element_bytes(precision);
  std::array<double, step_parts> seconds{efficiencies.query_s};
  for (const KernelNeeds& kernel : network.kernels) {
    if (kernel.only_in_16_bits && element != 2) continue;
    const double bytes = bytes_of(kernel, batch, element);
    double busy = bytes / (bandwidth_of(device, bytes) * efficiencies.memory);
    if (kernel.kind != KernelNeeds::Kind::other)
      busy = std::max(busy, batch * kernel.flop / (kernel.kind == KernelNeeds::Kind::product ? products : convolutions));
    seconds.at(static_cast<size_t>(kernel.part)) += std::sqrt(efficiencies.launch_s * efficiencies.launch_s + busy * busy);
  }
  return seconds;
}

double predicted_seconds(const NetworkNeeds& network, double batch, const std::string& precision, const DeviceFigures& device,
                         const Efficiencies& efficiencies) {
  const auto parts = predicted_parts(network, batch, precision, device, efficiencies);
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

std::array<double, 2> used_shares(const NetworkNeeds& network, double batch, const std::string& precision, const DeviceFigures& device,
                                  double seconds) {
  double flop = 0, bytes = 0;
  for (const KernelNeeds& kernel : network.kernels) {
    if (kernel.kind != KernelNeeds::Kind::other) flop += batch * kernel.flop;
    bytes += bytes_of(kernel, batch, element_bytes(precision));
  }
  return {flop / seconds / peak_of(device, precision), bytes / seconds / device.bytes_per_s};
}

}  // namespace deepgap
