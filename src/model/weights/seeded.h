// Seeded weights that make wrong results visible (methodology.md). The generator is Philox4x32-10 (Salmon et al., SC'11), keyed by seed
// and by the tensor's name, so that a tensor's values depend on nothing else; the same bits on every machine.
// Convolutions and linear layers: He normal (fan in); the last BatchNorm gain of each residual branch 0.1; BatchNorm statistics from a
// seeded smooth batch run through the reference interpreter; the classifier's output centred over that batch.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <span>
#include <string>

namespace deepgap {

// Fills every constant of `graph` whose data is nullptr, by what its consumers do with it. `cache_dir` keeps the costly statistics.
void seed_weights(Graph& graph, uint64_t seed, const std::string& cache_dir);

// One smooth, picture-like NCHW sample in [-1, 1] or so: a seeded sum of low-frequency waves. Also what the seeded Dataset gives for
// 4-D float inputs.
void fill_smooth(std::span<float> sample, int64_t channels, int64_t height, int64_t width, uint64_t seed, uint64_t index);
// Standard normal values of stream (seed, name).
void fill_normal(std::span<float> values, uint64_t seed, const std::string& name);

}  // namespace deepgap
