// Turns a library's sums into a problem's result: by the library's own epilogue if that means the same, else by a kernel of ours.
#pragma once

#include "engine/gpu/convolution.h"

#include <memory>
#include <string>

namespace deepgap::gpu {

inline int64_t pixels_of(const Convolution& problem) { return problem.batch * problem.out_h * problem.out_w; }

// Returns whether sums of float32 without scales are ended as libraries do it: an addend of the result's type, a bias, a ReLU.
bool is_library_epilogue(const Convolution& problem);
bool ends_in_relu(const Epilogue& epilogue);

// Place of the library's sums, or of what it ended: sums are as large as results of four bytes, which are ended in place. In the workspace
// they take the first `bytes`.
struct SumsPlace {
  int role = role_target;
  size_t bytes = 0;
};
SumsPlace place_of_sums(const Convolution& problem, bool is_whole);
bool sums_fit(const Convolution& problem, bool is_whole);

// Returns the call, named `entry`, and what ends its sums; workspace_bytes: the library's own, after the sums. The variant has no name.
ConvolutionVariant variant_of_call(const Convolution& problem, const Chip& chip, bool is_whole, const std::string& entry,
                                   std::shared_ptr<const LibraryCall> call, size_t workspace_bytes);

// Returns the kernel that ends sums [pixels, out_pitch] of float32, or int32 for integers, at role `sums`: in place if that is the target.
Launch end_sums_launch(const Convolution& problem, const Chip& chip, int sums);

}  // namespace deepgap::gpu
