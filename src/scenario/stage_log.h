// The time of end-to-end queries by stage. Plain values.
#pragma once

#include "stats/correlated.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace deepgap {

// Stages in their order; those of a query add up to the time from its submission to its answer.
enum class Stage : uint8_t {
  wait_decode,  // until its first sample is begun
  read,         // the samples' files
  decode,       // to pixels
  preprocess,   // to the network's input
  wait_infer,   // from there on, what is none of the following: until the Session begins, and handing over
  copy_in,      // by the engine's marks
  compute,      // by the engine's marks; without, all the time in the Session
  copy_out,     // by the engine's marks
};
inline constexpr size_t stage_count = 8;

struct StageLog {
  std::array<RatioSeries, stage_count> ms;  // by Stage; y: milliseconds, x: 1 a query
  // y: milliseconds in which a thread read, decoded and preprocessed, x: samples. Several threads share a query's samples, so that its
  // three stages take less time than this.
  RatioSeries prepare_ms;
};

}  // namespace deepgap
