#include "cli/class_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace deepgap {

bool is_class_output(const std::vector<Tensor>& outputs) {
  return outputs.size() == 1 && outputs[0].type == DataType::f32 && outputs[0].shape.size() == 2 && outputs[0].shape[1] >= 10;
}

std::vector<ClassScore> best_classes(const Tensor& output, size_t count) {
  const auto values = output.as<float>();
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](size_t a, size_t b) { return values[a] > values[b]; });
  double sum = 0;
  for (const float value : values) sum += std::exp(double{value} - values[order[0]]);
  std::vector<ClassScore> classes;
  for (size_t i = 0; i < count; ++i) classes.push_back({order[i], std::exp(double{values[order[i]]} - values[order[0]]) / sum});
  return classes;
}

std::string top_classes(const Tensor& output) {
  std::string text;
  for (const ClassScore& score : best_classes(output, 3)) text += fmt::format(" {} ({:.3f})", score.index, score.probability);
  return text;
}

}  // namespace deepgap
