// One problem on the device: its data, what variants make of it, how long they take.
#pragma once

#include "cuda/objects.h"
#include "engine/gpu/bound_launch.h"
#include "problems.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap::bench {

// A variant, compiled and with packed weights: what can be made before it is its turn.
struct Prepared {
  gpu::ConvolutionVariant variant;
  std::vector<std::string> cubins;  // by launch; empty where a library is called
  std::vector<std::byte> weights;
  std::string failure;
};
Prepared prepare(const gpu::Convolution& problem, const gpu::ConvolutionVariant& variant, const Tensor& weights, const gpu::Chip& chip);

// Random ones, the same for the same problem.
Tensor random_weights(const gpu::Convolution& problem);
std::vector<float> random_scale_bias(const gpu::Convolution& problem, const Tensor& weights);

struct Difference {
  double relative = 0;  // root of the squares' sum, over that of the reference
  double largest = 0;   // largest of one element; for floats over the reference's root mean square
  double wrong = 0;     // elements that are no numbers
};

// Kernels of the bench itself: filling and comparing.
class Workshop {
 public:
  explicit Workshop(const gpu::Chip& chip);
  void fill(cuda::Address to, int64_t elements, gpu::Element element, unsigned seed);
  // Compares the channels below `channels` in [pixels, pitch].
  Difference compare(cuda::Address value, cuda::Address reference, int64_t pixels, int64_t channels, int64_t pitch, gpu::Element element);
  int64_t different_bytes(cuda::Address a, cuda::Address b, int64_t bytes);
  cuda::Stream& stream() { return stream_; }

 private:
  void launch(const char* entry, std::vector<gpu::Argument> arguments, const std::vector<cuda::Address>& addresses);
  cuda::Stream stream_;
  cuda::Module module_;
  cuda::DeviceMemory sums_;
};

class ProblemOnDevice {
 public:
  // `rotating_bytes`: of all copies together that a timing goes through. `direct`: reference_of(named.problem), prepared.
  ProblemOnDevice(Workshop& workshop, const NamedProblem& named, const Prepared& direct, const Tensor& weights, size_t rotating_bytes);
  // Returns what is wrong, or an empty text: compares two runs over different poison, and the first and last images with direct.
  std::string check(const Prepared& prepared, Difference& difference);
  // Direct against loops in double on the host, where these are short.
  std::string check_reference(const Tensor& weights, Difference& difference);
  // Median, of one run.
  double seconds(const Prepared& prepared);
  double bytes() const;  // read and written once

 private:
  struct Loaded;
  Loaded load(const Prepared& prepared, size_t sets) const;
  void run_reference(const Prepared& direct, int64_t first_image, cuda::Address to);
  void run_poisoned(const Loaded& loaded, cuda::Address target, unsigned char poison);
  gpu::AddressOf addresses(size_t set, cuda::Address target, const Loaded& loaded) const;
  const gpu::Convolution& problem() const { return named_.problem; }
  size_t image_bytes(size_t of_all) const { return of_all / static_cast<size_t>(problem().batch); }

  Workshop& workshop_;
  const NamedProblem& named_;
  size_t sets_ = 2;
  int64_t window_;
  size_t source_bytes_, target_bytes_, residual_bytes_ = 0, reference_bytes_;
  std::vector<float> scale_bias_values_;
  cuda::DeviceMemory source_, target_, residual_, reference_;
};

// Returns the same problem for the few images that the plain kernel can do in a short time.
gpu::Convolution reference_of(const gpu::Convolution& problem);

}  // namespace deepgap::bench
