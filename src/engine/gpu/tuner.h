// Finds the fastest variant of a convolution on this device: measured at load, remembered between processes.
#pragma once

#include "engine/gpu/chain.h"
#include "engine/gpu/convolution.h"
#include "engine/gpu/kernels.h"
#include "engine/gpu/libraries.h"
#include "engine/gpu/tuned_file.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap::gpu {

enum class Tuning { off, quick, full };

class Tuner {
 public:
  // `libraries`: what is measured beside our own kernels; nullptr: nothing. With Tuning::off nothing is asked of them.
  Tuner(Kernels& kernels, const Chip& chip, Tuning tuning, TunedFile& known, Libraries* libraries = nullptr)
      : kernels_(kernels), chip_(chip), tuning_(tuning), known_(known), libraries_(tuning == Tuning::off ? nullptr : libraries) {}

  // Chooses one variant for each problem, in order. Measuring takes the device for some milliseconds a variant.
  std::vector<ConvolutionVariant> choose(const std::vector<Convolution>& problems);

  // A chain's kernel, and by how much it is faster than the convolutions one by one.
  struct MeasuredChain {
    ChainVariant variant;
    long long ns = 0, saved_ns = 0;
  };
  // The choice for a chain that is known without measuring.
  struct KnownChain {
    bool is_known = false;
    std::optional<ChainVariant> kernel;  // none: its parts are better, or something else that has some of them
  };
  KnownChain known(const Chain& chain) const;
  // Returns the fastest of its kernels, if it is faster than `parts`, which are by Chain::problems().
  const std::optional<MeasuredChain>& measured(const Chain& chain, const std::vector<ConvolutionVariant>& parts);
  // Remembers for later loads: the kernel, or that there was a better choice.
  void remember(const Chain& chain, bool taken);

 private:
  // The fastest variant by name, and the fastest of our own kernels, for a problem of the same key that the library does not do: a key does
  // not distinguish one clamp from another.
  struct Chosen {
    std::string best, own;
  };
  std::vector<ConvolutionVariant> candidates(const Convolution& problem) const;
  std::vector<ConvolutionVariant> known_winners(const Convolution& problem, const std::vector<ConvolutionVariant>& own) const;
  void put_guesses_first(std::vector<ConvolutionVariant>& variants, const Convolution& problem) const;
  std::vector<ConvolutionVariant> of_libraries(const Convolution& problem) const;
  ConvolutionVariant named(const Convolution& problem, const Chosen& chosen) const;
  long long time_of(const Convolution& problem, const ConvolutionVariant& variant);
  Chosen best_of(const Convolution& problem, std::vector<ConvolutionVariant> variants);

  Kernels& kernels_;
  Chip chip_;
  Tuning tuning_;
  TunedFile& known_;
  Libraries* libraries_;
  std::map<std::string, std::optional<MeasuredChain>> measured_;  // by Chain::key
};

}  // namespace deepgap::gpu
