// Which variant of a convolution is the quickest on this device: measured at load, remembered between processes.
#pragma once

#include "engine/gpu/convolution.h"
#include "engine/gpu/kernels.h"
#include "engine/gpu/tuned_file.h"

#include <map>
#include <string>
#include <vector>

namespace deepgap::gpu {

enum class Tuning { off, quick, full };

class Tuner {
 public:
  Tuner(Kernels& kernels, const Chip& chip, Tuning tuning, TunedFile& known, int threads)
      : kernels_(kernels), chip_(chip), tuning_(tuning), known_(known), threads_(threads) {}

  // One variant for each problem, in order. Measuring takes the device for some milliseconds a variant.
  std::vector<ConvolutionVariant> choose(const std::vector<Convolution>& problems);

 private:
  std::vector<ConvolutionVariant> candidates(const Convolution& problem) const;
  ConvolutionVariant named(const Convolution& problem, const std::string& name) const;
  ConvolutionVariant best_of(const Convolution& problem, std::vector<ConvolutionVariant> variants);

  Kernels& kernels_;
  Chip chip_;
  Tuning tuning_;
  TunedFile& known_;
  int threads_;
};

}  // namespace deepgap::gpu
