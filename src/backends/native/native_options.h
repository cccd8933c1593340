// The options of the native engine, of both its devices.
#pragma once

#include "backends/generate/generation_settings.h"
#include "base/option_table.h"
#include "engine/cpu/sharing.h"
#include "engine/gpu/tuner.h"

#include <cstdint>
#include <optional>
#include <string>

namespace deepgap {

// Says whether batches of several streams are computed beside each other.
enum class Overlap : uint8_t { automatic, always, never };

struct NativeOptions {
  bool plain = false, pin = true;
  int64_t part = 0;  // 0: the engine's choice
  int streams = 1;
  Sharing sharing = Sharing::automatic;
  std::string isa = "auto";
  // These are for a GPU.
  gpu::Tuning tuning = gpu::Tuning::quick;
  bool libraries = true;
  bool cuda_graph = true;
  Overlap overlap = Overlap::automatic;
  bool hopper_attention = true;
  GenerationSettings generation;

  // Returns whether a load may ask NVIDIA's libraries for kernels.
  bool asks_libraries() const { return libraries && tuning != gpu::Tuning::off; }
};

const OptionTable<NativeOptions>& native_options();

}  // namespace deepgap
