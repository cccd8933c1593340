// What calls of CUPTI's host side take, as cupti_profiler_host.h of CUDA 12.6 and later has them. Each begins with its size, so that a
// newer library knows which fields are there. cupti_api_test.cpp holds them against the header.
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

}  // namespace deepgap::cupti
