#include "analysis/predict/cost_model.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

double peak_of(const DeviceFigures& device, const std::string& precision) {
  const auto found = device.flop_per_s.find(precision == "mixed" ? "fp16" : precision);
  if (found != device.flop_per_s.end()) return found->second;
  throw Error(ErrorKind::usage, fmt::format("{} has no units for {}, as far as its data sheet tells", device.name, precision));
}

double bytes_of(const KernelNeeds& kernel, double batch, double element) { return element * (batch * kernel.activations + kernel.weights); }

}  // namespace

double element_bytes(const std::string& precision) {
  if (precision == "int8" || precision == "fp8") return 1;
  return precision == "fp16" || precision == "bf16" || precision == "mixed" ? 2 : 4;
}

double predicted_seconds(const NetworkNeeds& network, double batch, const std::string& precision, const DeviceFigures& device,
                         const Efficiencies& efficiencies) {
  const auto reached = efficiencies.arithmetic.find(precision);
  if (reached == efficiencies.arithmetic.end())
    throw Error(ErrorKind::usage, fmt::format("no measured Point in {} is at hand to foretell others from", precision));
  const double convolutions = peak_of(device, precision) * reached->second, products = convolutions * efficiencies.products;
  const double bytes_per_s = device.bytes_per_s * efficiencies.memory, element = element_bytes(precision);
  double seconds = efficiencies.query_s;
  for (const KernelNeeds& kernel : network.kernels) {
    double busy = bytes_of(kernel, batch, element) / bytes_per_s;
    if (kernel.kind != KernelNeeds::Kind::other)
      busy = std::max(busy, batch * kernel.flop / (kernel.kind == KernelNeeds::Kind::product ? products : convolutions));
    seconds += std::sqrt(efficiencies.launch_s * efficiencies.launch_s + busy * busy);
  }
  return seconds;
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
