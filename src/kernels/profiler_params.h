// Parameters of calls of CUPTI's host side and of its range profiler, as cupti_profiler_host.h, cupti_profiler_target.h, cupti_target.h and
// cupti_range_profiler.h of CUDA 12.6 and later have them. Each begins with its size, up to and with its last field, so that a newer
// library knows which fields are there. range_profiler_test.cpp and cupti_api_test.cpp compare them with the headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepgap::cupti {

struct SupportedChips {
  size_t size = 4 * sizeof(size_t);
  void* priv = nullptr;
  size_t count = 0;                    // out
  const char* const* names = nullptr;  // out
};
struct HostInitialize {
  size_t size = 6 * sizeof(size_t);
  void* priv = nullptr;
  int profiler = 0;  // the range profiler
  const char* chip = nullptr;
  const uint8_t* availability = nullptr;
  void* host = nullptr;  // out
};
struct HostHandle {
  size_t size = 3 * sizeof(size_t);
  void* priv = nullptr;
  void* host = nullptr;
};
struct BaseMetrics {
  size_t size = 6 * sizeof(size_t);
  void* priv = nullptr;
  void* host = nullptr;
  int type = 0;
  const char** names = nullptr;  // out
  size_t count = 0;              // out
};

// Metrics by name: to configure a host object with.
struct AddMetrics {
  size_t size = 5 * sizeof(size_t);
  void* priv = nullptr;
  void* host = nullptr;
  const char** names = nullptr;
  size_t count = 0;
};
struct ConfigImageSize {
  size_t size = 4 * sizeof(size_t);
  void* priv = nullptr;
  void* host = nullptr;
  size_t bytes = 0;  // out
};
struct ConfigImage {
  size_t size = 5 * sizeof(size_t);
  void* priv = nullptr;
  void* host = nullptr;
  size_t bytes = 0;
  uint8_t* image = nullptr;
};
struct PassCount {
  size_t size = 5 * sizeof(size_t);
  void* priv = nullptr;
  size_t bytes = 0;
  uint8_t* image = nullptr;
  size_t passes = 0;  // out
};
struct Evaluate {
  size_t size = 9 * sizeof(size_t);
  void* priv = nullptr;
  void* host = nullptr;
  const uint8_t* data = nullptr;
  size_t data_bytes = 0;
  size_t range = 0;
  const char** names = nullptr;
  size_t count = 0;
  double* values = nullptr;  // out
};

// The device's side.
struct ProfilerStart {  // parameters of cuptiProfilerInitialize and cuptiProfilerDeInitialize
  size_t size = 2 * sizeof(size_t);
  void* priv = nullptr;
};
struct ChipName {
  size_t size = 4 * sizeof(size_t);
  void* priv = nullptr;
  size_t device = 0;
  const char* name = nullptr;  // out
};
// Counters that this user may use on this device. It is asked for twice: for the size, and for the bytes.
struct CounterAvailability {
  size_t size = 5 * sizeof(size_t);
  void* priv = nullptr;
  void* context = nullptr;
  size_t bytes = 0;
  uint8_t* image = nullptr;
};
struct RangeEnable {
  size_t size = 4 * sizeof(size_t);
  void* priv = nullptr;
  void* context = nullptr;
  void* profiler = nullptr;  // out
};
// Parameters of cuptiRangeProfilerDisable, Start and PopRange.
struct RangeHandle {
  size_t size = 3 * sizeof(size_t);
  void* priv = nullptr;
  void* profiler = nullptr;
};
inline constexpr int range_of_kernel = 1, range_of_user = 2;    // CUpti_ProfilerRange
inline constexpr int replay_of_kernel = 2, replay_of_user = 3;  // CUpti_ProfilerReplayMode
struct RangeConfig {
  size_t size = 11 * sizeof(size_t) + sizeof(uint16_t);
  void* priv = nullptr;
  void* profiler = nullptr;
  size_t config_bytes = 0;
  const uint8_t* config = nullptr;
  size_t data_bytes = 0;
  uint8_t* data = nullptr;
  int range = range_of_user, replay = replay_of_user;
  size_t most_ranges = 0;  // limit per pass
  uint16_t levels = 1, least_level = 1;
  size_t pass = 0;
  uint16_t target_level = 1;
};
struct RangeStop {
  size_t size = 5 * sizeof(size_t) + 1;
  void* priv = nullptr;
  void* profiler = nullptr;
  size_t pass = 0, target_level = 0;  // out: of the next pass
  uint8_t is_all = 0;                 // out: there is none
};
struct RangePush {
  size_t size = 4 * sizeof(size_t);
  void* priv = nullptr;
  void* profiler = nullptr;
  const char* name = nullptr;
};
struct RangeDecode {
  size_t size = 4 * sizeof(size_t);
  void* priv = nullptr;
  void* profiler = nullptr;
  size_t dropped = 0;  // out: ranges that did not fit
};
struct CounterDataSize {
  size_t size = 8 * sizeof(size_t);
  void* priv = nullptr;
  void* profiler = nullptr;
  const char** names = nullptr;
  size_t count = 0;
  size_t most_ranges = 0;
  uint32_t most_nodes = 0;
  size_t bytes = 0;  // out
};
struct CounterDataStart {
  size_t size = 5 * sizeof(size_t);
  void* priv = nullptr;
  void* profiler = nullptr;
  size_t bytes = 0;
  uint8_t* data = nullptr;
};
struct CounterDataInfo {
  size_t size = 5 * sizeof(size_t);
  void* priv = nullptr;
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  size_t ranges = 0;  // out
};
struct RangeInfo {
  size_t size = 7 * sizeof(size_t);
  void* priv = nullptr;
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  size_t range = 0;
  const char* delimiter = "/";
  const char* name = nullptr;  // out
};

}  // namespace deepgap::cupti
