// A SamplePreparer without images, for tests of end-to-end queries.
#pragma once

#include "scenario/sample_preparer.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace deepgap {

// `threads` servers that each take so long for a sample, as scheduled work of the Clock: exact in virtual time. The input becomes the
// sample's index as a float.
class ScriptedPreparer final : public SamplePreparer {
 public:
  struct Script {
    int threads = 1;
    Nanoseconds read = 0, decode = 0, preprocess = 0;
    std::set<uint32_t> broken;  // samples that cannot be prepared
  };
  ScriptedPreparer(Clock& clock, Script script)
      : clock_(clock), script_(std::move(script)), free_at_(static_cast<size_t>(script_.threads), 0) {}

  void on_prepared(Prepared prepared) override { prepared_ = std::move(prepared); }
  void prepare(uint32_t index, std::span<std::byte> input, uint64_t tag) override {
    Nanoseconds& free_at = *std::min_element(free_at_.begin(), free_at_.end());
    PreparedSample sample{tag, std::max(clock_.now(), free_at)};
    sample.read = sample.begin + script_.read;
    sample.decoded = sample.read + script_.decode;
    sample.end = free_at = sample.decoded + script_.preprocess;
    if (script_.broken.contains(index)) sample.failure = "sample is broken as scripted";
    clock_.schedule(sample.end, [this, sample, index, input] {
      const auto value = static_cast<float>(index);
      std::memcpy(input.data(), &value, sizeof value);
      prepared_(sample);
    });
  }
  void withdraw() override {}  // what was begun is finished, and here all is begun at once

 private:
  Clock& clock_;
  Script script_;
  Prepared prepared_;
  std::vector<Nanoseconds> free_at_;
};

}  // namespace deepgap
