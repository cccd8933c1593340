// The options of the native engine, of both its devices.
#pragma once

#include "backends/common/option_table.h"
#include "engine/gpu/tuner.h"

#include <cstdint>
#include <string>

namespace deepgap {

struct NativeOptions {
  bool plain = false, pin = true;
  int64_t part = 0;  // 0: the engine's choice
  int streams = 1;
  std::string isa = "auto";
  // On a GPU.
  gpu::Tuning tuning = gpu::Tuning::quick;
  bool libraries = true;
  bool cuda_graph = true;
  bool hopper_attention = true;

  // Whether a load may ask NVIDIA's libraries for kernels.
  bool asks_libraries() const { return libraries && tuning != gpu::Tuning::off; }
};

const OptionTable<NativeOptions>& native_options();

}  // namespace deepgap
