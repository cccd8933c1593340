// NonMaxSuppression: of each class of each picture the boxes with the best scores that do not overlap a better one. Among equal scores the
// first box wins.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace deepgap {

namespace {

struct Box {
  float left, top, right, bottom;
  float area() const { return (right - left) * (bottom - top); }
};

// [y1, x1, y2, x2] of any two opposite corners, or with center_point_box [x, y, width, height] of the center.
Box box_of(const float* at, bool center) {
  if (center) return {at[0] - at[2] / 2, at[1] - at[3] / 2, at[0] + at[2] / 2, at[1] + at[3] / 2};
  return {std::min(at[1], at[3]), std::min(at[0], at[2]), std::max(at[1], at[3]), std::max(at[0], at[2])};
}

// Intersection over union above the threshold; empty boxes overlap nothing.
bool overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const float intersection = width * height, both = a.area() + b.area() - intersection;
  return both > 0 && intersection / both > threshold;
}

struct Settings {
  int64_t most;  // the most boxes of one class
  float overlap, score;
  bool center;
};

template <typename T>
T setting(const Call& call, size_t input, DataType type, T fallback) {
  if (!call.has(input)) return fallback;
  call.expect(call.input(input), type);
  if (product_of(call.input(input).shape) != 1) call.fail(fmt::format("input {} is not one number", input));
  return call.input(input).as<T>()[0];
}

std::vector<int64_t> selected(const float* boxes, std::span<const float> scores, const Settings& settings) {
  std::vector<int64_t> candidates, chosen;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > settings.score) candidates.push_back(static_cast<int64_t>(i));
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](int64_t a, int64_t b) { return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)]; });
  std::vector<Box> kept;
  for (const int64_t index : candidates) {
    if (static_cast<int64_t>(chosen.size()) >= settings.most) break;
    const Box box = box_of(boxes + index * 4, settings.center);
    if (std::ranges::any_of(kept, [&](const Box& other) { return overlaps(box, other, settings.overlap); })) continue;
    kept.push_back(box);
    chosen.push_back(index);
  }
  return chosen;
}

std::vector<Tensor> non_max_suppression(const Call& call) {
  const Tensor &boxes = call.input(0), &scores = call.input(1);
  call.expect(boxes, DataType::f32);
  call.expect(scores, DataType::f32);
  const bool fits = boxes.shape.size() == 3 && scores.shape.size() == 3 && boxes.shape[2] == 4 && boxes.shape[0] == scores.shape[0] &&
                    boxes.shape[1] == scores.shape[2];
  if (!fits) call.fail("boxes [batch, boxes, 4] and scores [batch, classes, boxes] do not go together");
  const Settings settings{setting<int64_t>(call, 2, DataType::i64, 0), setting<float>(call, 3, DataType::f32, 0),
                          setting<float>(call, 4, DataType::f32, -std::numeric_limits<float>::infinity()),
                          call.int_of("center_point_box", 0) != 0};
  const int64_t classes = scores.shape[1], count = scores.shape[2];
  std::vector<std::vector<int64_t>> chosen(static_cast<size_t>(scores.shape[0] * classes));
  parallel_for(static_cast<int64_t>(chosen.size()), static_cast<double>(count) * 100, [&](int64_t item) {
    chosen[static_cast<size_t>(item)] =
        selected(boxes.as<float>().data() + item / classes * count * 4, scores.as<float>().subspan(item * count, count), settings);
  });
  std::vector<int64_t> rows;
  for (size_t item = 0; item < chosen.size(); ++item)
    for (const int64_t box : chosen[item])
      rows.insert(rows.end(), {static_cast<int64_t>(item) / classes, static_cast<int64_t>(item) % classes, box});
  Tensor result = make_tensor(DataType::i64, {static_cast<int64_t>(rows.size()) / 3, 3});
  std::ranges::copy(rows, writable<int64_t>(result).begin());
  return {result};
}

const bool registered = add_operator("NonMaxSuppression", non_max_suppression);

}  // namespace

}  // namespace deepgap
