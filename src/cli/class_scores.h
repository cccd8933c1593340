// Outputs of classifiers: one row of scores a sample.
#pragma once

#include <deepgap/tensor.h>

#include <string>
#include <vector>

namespace deepgap {

bool is_class_output(const std::vector<Tensor>& outputs);  // one float32 output [N, classes], 10 classes or more

struct ClassScore {
  size_t index = 0;
  double probability = 0;  // softmax
};
std::vector<ClassScore> best_classes(const Tensor& output, size_t count);  // largest first
// The three best, for people who know what the image shows: " 282 (0.386) 285 (0.356) 281 (0.124)".
std::string top_classes(const Tensor& output);

}  // namespace deepgap
