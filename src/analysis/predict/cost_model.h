// How long a network takes on a device, from what its kernels do and what the device can: a roofline of every kernel, with a cost of each
// launch. Four efficiencies of an engine are fitted to measured Points (fit.h); nothing here knows an engine or a device by name.
//
//   a kernel:   sqrt(launch^2 + max(arithmetic, memory)^2)
//   arithmetic: 2 macs / (peak of the precision * efficiency of the precision * efficiency of products where it is no convolution)
//   memory:     bytes / (peak bandwidth * efficiency of memory)
//   a batch:    the sum over its kernels, and a cost of each query
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Of one item; weights are read once for a batch.
struct KernelNeeds {
  enum class Kind { convolution, product, other };
  Kind kind = Kind::other;
  double flop = 0;
  double activations = 0, weights = 0;  // elements
};
struct NetworkNeeds {
  std::vector<KernelNeeds> kernels;
  double inputs = 0, weights = 0, live_activations = 0;  // elements
};

// What a data sheet or a measurement says of a device.
struct DeviceFigures {
  std::string name, architecture;            // "H100 SXM5", "Hopper"
  std::map<std::string, double> flop_per_s;  // by precision
  double bytes_per_s = 0;
  std::optional<double> memory_bytes;
  std::optional<double> power_w;  // its limit
};

struct Efficiencies {
  std::map<std::string, double> arithmetic;  // by precision: share of the peak that convolutions reach
  double products = 1;                       // times that, of matrix products
  double memory = 1;                         // share of the peak bandwidth
  double launch_s = 0, query_s = 0;
};

// Bytes that an element takes in a precision: 4, 2 or 1.
double element_bytes(const std::string& precision);

// Of a batch, seconds. Throws Error{usage} where the device has no peak of that precision, or nothing was fitted for it.
double predicted_seconds(const NetworkNeeds& network, double batch, const std::string& precision, const DeviceFigures& device,
                         const Efficiencies& efficiencies);

// Shares of the device's peaks that a batch of so many seconds uses: arithmetic, memory.
std::array<double, 2> used_shares(const NetworkNeeds& network, double batch, const std::string& precision, const DeviceFigures& device,
                                  double seconds);

}  // namespace deepgap
