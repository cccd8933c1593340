// A classifier's outputs: which classes it answers for a sample. Pure.
#pragma once

#include <deepgap/graph.h>
#include <deepgap/tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace deepgap {

// Returns how many classes a network with these outputs distinguishes: the sizes of its first output of scores, [N, classes] with any more
// sizes of 1. 0: the number is not known; nullopt: the network is not a classifier.
std::optional<int64_t> class_count(std::span<const TensorInfo> outputs);

// The classes with the largest scores for one row of a batch, the best first and at most `most`; of equal scores the lower class goes
// first. The class alone where the network answers nothing else, as a whole number [N]. Empty where the outputs are not a classifier's.
std::vector<int64_t> best_classes(std::span<const TensorView> outputs, size_t row, size_t most);

}  // namespace deepgap
