// The decoder's kernels (src/engine/gpu/kernels/decoder_*.cuh) compiled for the host, behind hopper_words.
#pragma once

#include "host_compiler.h"

#include <string>
#include <vector>

namespace deepgap::gpu {

// Makes of a kernel's text what runs its entries on the host, as `run_NUMBER_ENTRY`.
std::string decoder_host_text(std::string text, const std::vector<std::string>& entries, int number);
// `arguments` as cuLaunchKernelEx has them. Returns what went wrong, or nullptr.
using RunDecoderKernel = const char* (*)(const unsigned* grid, unsigned threads, void** arguments);

}  // namespace deepgap::gpu
