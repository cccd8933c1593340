// Predicts the time of a network on a device, from what its kernels do and what the device can: a roofline of every kernel, with a cost of
// each launch. Four efficiencies of an engine are fitted to measured Points (fit.h); nothing here knows an engine or a device by name.
//
//   a kernel:   sqrt(launch^2 + max(arithmetic, memory)^2)
//   arithmetic: 2 macs / (peak of the precision * efficiency of the precision * efficiency of products where it is no convolution)
//   memory:     bytes / (peak bandwidth * efficiency of memory); of a CPU the bandwidth of the cache that as many bytes fit into
//   a batch:    the sum over its kernels, and a cost of each query
//
// A step of training is a batch whose kernels are those of its three parts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// Parts of a step of training. What infers is all forward.
enum class StepPart { forward, backward, update };
constexpr size_t step_parts = 3;

// The needs of one item; weights are read once for a batch.
struct KernelNeeds {
  enum class Kind { convolution, product, other };
  Kind kind = Kind::other;
  double flop = 0;
  double activations = 0, weights = 0;  // elements
  // The following are for training.
  double wide_activations = 0;   // elements that are float32 in every precision
  double fixed_bytes = 0;        // whatever batch and precision
  bool only_in_16_bits = false;  // a copy from or to float32
  StepPart part = StepPart::forward;
};
// The memory that training holds: bytes whatever the batch, and beside NetworkNeeds::live_activations, which are kept for the backward pass
// in the precision's numbers, elements of one item that are kept in others (model/step_work.h).
struct TrainingState {
  double weights = 0, gradients = 0, optimizer = 0;
  double kept_wide = 0, kept_copies = 0, kept_only_in_32_bits = 0;
  double copied_weights = 0;  // elements whatever the batch
  double all() const { return weights + gradients + optimizer; }
};
struct NetworkNeeds {
  std::vector<KernelNeeds> kernels;
  double inputs = 0, weights = 0, live_activations = 0;  // elements; in training weights are in `state`, and live ones are kept
  std::optional<TrainingState> state = {};               // set for training
};

// The figures of a device, from a data sheet or a measurement.
struct DeviceFigures {
  std::string name, architecture;            // "H100 SXM5", "Hopper"
  std::map<std::string, double> flop_per_s;  // by precision
  double bytes_per_s = 0;
  std::optional<double> memory_bytes;
  std::optional<double> power_w;  // its limit
  // For a CPU: bytes per second by footprint in bytes, ascending; the last is main memory's. Empty: bytes_per_s for all.
  std::vector<std::pair<double, double>> bytes_per_s_by_footprint = {};
};

struct Efficiencies {
  std::map<std::string, double> arithmetic;  // by precision: share of the peak that convolutions reach
  double products = 1;                       // times that, of matrix products
  double memory = 1;                         // share of the peak bandwidth
  double launch_s = 0, query_s = 0;
};

// Bytes that an element takes in a precision: 4, 2 or 1.
double element_bytes(const std::string& precision);

// Returns the bytes of activations that live at one time, or are kept for a backward pass.
double live_bytes(const NetworkNeeds& network, double batch, const std::string& precision);

// Returns the seconds of one batch. Throws Error{usage} if the device has no peak for the precision, or nothing was fitted for it.
double predicted_seconds(const NetworkNeeds& network, double batch, const std::string& precision, const DeviceFigures& device,
                         const Efficiencies& efficiencies);

// Returns the same time by StepPart; the cost of each query belongs to the first.
std::array<double, step_parts> predicted_parts(const NetworkNeeds& network, double batch, const std::string& precision,
                                               const DeviceFigures& device, const Efficiencies& efficiencies);

// Shares of the device's peaks that a batch of so many seconds uses: arithmetic, memory.
std::array<double, 2> used_shares(const NetworkNeeds& network, double batch, const std::string& precision, const DeviceFigures& device,
                                  double seconds);

}  // namespace deepgap
