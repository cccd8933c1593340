#include "backends/generate/sampler.h"

#include <algorithm>
#include <cmath>

namespace deepgap {

Sampler::Sampler(const SamplingSettings& settings, uint64_t stream)
    : settings_(settings), random_(settings.seed * 0x9e3779b97f4a7c15ULL + stream) {}

int64_t Sampler::choose(std::span<const float> scores) {
  if (settings_.greedy()) return std::max_element(scores.begin(), scores.end()) - scores.begin();
  candidates_.clear();
  for (size_t i = 0; i < scores.size(); ++i) candidates_.emplace_back(scores[i], static_cast<int64_t>(i));
  const auto before = [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; };
  const size_t kept = settings_.top_k > 0 ? std::min(candidates_.size(), static_cast<size_t>(settings_.top_k)) : candidates_.size();
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(kept), candidates_.end(), before);
  candidates_.resize(kept);
  const double highest = candidates_.front().first;
  std::vector<double> weights;
  double sum = 0;
  for (const auto& [score, token] : candidates_) {
    weights.push_back(std::exp((score - highest) / settings_.temperature));
    sum += weights.back();
  }
  double within = 0;  // weight of the most likely ones that together reach top_p
  size_t count = 0;
  while (count < weights.size() && (count == 0 || within < settings_.top_p * sum)) within += weights[count++];
  double draw = static_cast<double>(random_() >> 11) * 0x1p-53 * within;
  for (size_t i = 0; i + 1 < count; ++i) {
    if (draw < weights[i]) return candidates_[i].second;
    draw -= weights[i];
  }
  return candidates_[count - 1].second;
}

}  // namespace deepgap
