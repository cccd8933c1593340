// NonMaxSuppression: of boxes that overlap, the one with the best score stays.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"

#include <algorithm>
#include <optional>

namespace deepgap {

namespace {

struct Box {
  float top, left, bottom, right;
};

Box box_at(std::span<const float> four, bool from_centre) {
  if (from_centre) {  // x, y, width, height
    const float half_width = four[2] / 2, half_height = four[3] / 2;
    return {four[1] - half_height, four[0] - half_width, four[1] + half_height, four[0] + half_width};
  }
  // Any two opposite corners.
  return {std::min(four[0], four[2]), std::min(four[1], four[3]), std::max(four[0], four[2]), std::max(four[1], four[3])};
}

float area(const Box& box) { return (box.bottom - box.top) * (box.right - box.left); }

bool overlap(const Box& a, const Box& b, float most) {
  const Box both{std::max(a.top, b.top), std::max(a.left, b.left), std::min(a.bottom, b.bottom), std::min(a.right, b.right)};
  if (both.bottom <= both.top || both.right <= both.left) return false;
  const float shared = area(both), all = area(a) + area(b) - shared;
  return all > 0 && shared / all > most;
}

struct Limits {
  int64_t most_boxes = 0;
  float most_overlap = 0;
  std::optional<float> least_score;
};

// Of one class of one sample: positions of the boxes that stay, best first; of equal scores the first comes first.
std::vector<int64_t> kept_of(std::span<const Box> boxes, std::span<const float> scores, const Limits& limits) {
  std::vector<int64_t> order, kept;
  for (size_t i = 0; i < scores.size(); ++i)
    if (!limits.least_score || scores[i] > *limits.least_score) order.push_back(static_cast<int64_t>(i));
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (const int64_t next : order) {
    if (std::ssize(kept) >= limits.most_boxes) break;
    if (std::ranges::none_of(kept, [&](int64_t other) { return overlap(boxes[next], boxes[other], limits.most_overlap); }))
      kept.push_back(next);
  }
  return kept;
}

float number(const Call& call, size_t index, float fallback) {
  if (!call.has(index)) return fallback;
  const Tensor& given = call.input(index);
  call.expect(given, DataType::f32);
  if (element_count(given.shape) != 1) call.fail("a threshold is not one number");
  return given.as<float>()[0];
}

Limits limits_of(const Call& call) {
  Limits limits;
  if (call.has(2)) {
    const auto most = call.integers(2);
    if (most.size() != 1) call.fail("max_output_boxes_per_class is not one number");
    limits.most_boxes = most[0];
  }
  limits.most_overlap = number(call, 3, 0);
  if (call.has(4)) limits.least_score = number(call, 4, 0);
  return limits;
}

std::vector<Tensor> non_max_suppression(const Call& call) {
  const Tensor &boxes = call.input(0), &scores = call.input(1);
  call.expect(boxes, DataType::f32);
  call.expect(scores, DataType::f32);
  if (boxes.shape.size() != 3 || scores.shape.size() != 3 || boxes.shape[2] != 4 || boxes.shape[0] != scores.shape[0] ||
      boxes.shape[1] != scores.shape[2])
    call.fail("boxes are not [batch, boxes, 4], or scores not [batch, classes, boxes]");
  const Limits limits = limits_of(call);
  const bool from_centre = call.int_of("center_point_box", 0) != 0;
  const int64_t samples = boxes.shape[0], count = boxes.shape[1], classes = scores.shape[1];
  std::vector<Box> all(static_cast<size_t>(samples * count));
  for (size_t i = 0; i < all.size(); ++i) all[i] = box_at(boxes.as<float>().subspan(4 * i, 4), from_centre);

  std::vector<std::vector<int64_t>> kept(static_cast<size_t>(samples * classes));
  parallel_for(samples * classes, 20.0 * static_cast<double>(count), [&](int64_t i) {
    kept[i] = kept_of(std::span(all).subspan(i / classes * count, count), scores.as<float>().subspan(i * count, count), limits);
  });
  int64_t rows = 0;
  for (const auto& of_class : kept) rows += std::ssize(of_class);
  Tensor result = make_tensor(DataType::i64, {rows, 3});
  auto next = writable<int64_t>(result).begin();
  for (size_t i = 0; i < kept.size(); ++i)
    for (const int64_t box : kept[i]) {
      *next++ = static_cast<int64_t>(i) / classes;
      *next++ = static_cast<int64_t>(i) % classes;
      *next++ = box;
    }
  return {result};
}

const bool registered = add_operator("NonMaxSuppression", non_max_suppression);

}  // namespace

}  // namespace deepgap
