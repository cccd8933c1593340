// Chooses the next token by its scores: the highest (greedy), or drawn at random with a temperature from those that top_k and top_p leave.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace deepgap {

struct SamplingSettings {
  double temperature = 0;  // 0: greedy
  int64_t top_k = 0;       // 0: all
  double top_p = 1;
  uint64_t seed = 1;
  bool greedy() const { return temperature == 0; }
};

class Sampler {
 public:
  // `stream`: the number of the query, so that each has random numbers of its own whichever others run beside it.
  Sampler(const SamplingSettings& settings, uint64_t stream);
  bool greedy() const { return settings_.greedy(); }
  int64_t choose(std::span<const float> scores);

 private:
  SamplingSettings settings_;
  std::mt19937_64 random_;
  std::vector<std::pair<float, int64_t>> candidates_;  // score and token, highest first
};

}  // namespace deepgap
