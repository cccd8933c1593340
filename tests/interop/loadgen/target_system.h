// A deepgap Target as LoadGen's system under test: what LoadGen issues is submitted in queries as large as the Target takes, and each of
// its completions is LoadGen's. For Targets that take any number of queries at a time.
#pragma once

#include "reference.h"

#include <deepgap/target.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace deepgap {

class TargetSystem {
 public:
  explicit TargetSystem(Target& target) : target_(target) {
    target_.on_completion([this](std::span<const Completed> completed) {
      for (const Completed& c : completed) complete(c);
    });
  }
  ~TargetSystem() { target_.on_completion({}); }

  void first_token(uint64_t query) {
    std::vector<mlperf::QuerySampleResponse> responses;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& sample : pieces_.at(query)) responses.push_back({sample.id, 0, 0});
    }
    mlperf::FirstTokenComplete(responses.data(), responses.size());
  }

  void issue(const std::vector<mlperf::QuerySample>& samples) {
    const auto most = static_cast<size_t>(target_.limits().max_samples);
    for (size_t at = 0; at < samples.size(); at += most) {
      const std::vector<mlperf::QuerySample> piece(samples.begin() + static_cast<ptrdiff_t>(at),
                                                   samples.begin() + static_cast<ptrdiff_t>(std::min(at + most, samples.size())));
      std::vector<uint32_t> indices;
      for (const auto& sample : piece) indices.push_back(static_cast<uint32_t>(sample.index));
      uint64_t id = 0;
      {
        const std::lock_guard lock(mutex_);
        id = next_++;
        pieces_.emplace(id, piece);
      }
      const Query query{id, 0, indices};
      target_.submit(std::span(&query, 1));
    }
  }

 private:
  void complete(const Completed& completed) {
    std::vector<mlperf::QuerySampleResponse> responses;
    {
      const std::lock_guard lock(mutex_);
      const auto& piece = pieces_.at(completed.query);
      for (uint32_t i = 0; i < completed.count; ++i) responses.push_back({piece[completed.first + i].id, 0, 0});
    }
    for (auto& response : responses) response.n_tokens = completed.tokens == nullptr ? 0 : completed.tokens->output;
    mlperf::QuerySamplesComplete(responses.data(), responses.size());
  }

  Target& target_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<mlperf::QuerySample>> pieces_;
  uint64_t next_ = 0;
};

}  // namespace deepgap
