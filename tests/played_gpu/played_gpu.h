// Shared by the played driver and the played libraries: the GPU, and how DEEPGAP_PLAYED_GPU sets both.
#pragma once

#include "cuda/fake_driver.h"

#include <string>
#include <utility>
#include <vector>

// A function of that name that jumps to where the table points, with all its arguments where they are.
#define DEEPGAP_PLAYED_FUNCTION(name, function)                               \
  extern "C" __attribute__((visibility("hidden"))) const void* played_##name; \
  const void* played_##name = reinterpret_cast<const void*>(function);        \
  asm(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n  jmp *played_" #name "(%rip)\n");

// Lives as long as the process: threads may call it to the end.
deepgap::cuda::FakeDriver& played_gpu();
// name, value
std::vector<std::pair<std::string, std::string>> played_settings();
