// Numbers normalised to mean 0 and variance 1: LayerNormalization, InstanceNormalization, GroupNormalization, MeanVarianceNormalization.
// Means and variances are computed in double precision, in the order of memory.
#include "model/eval/element_types.h"
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/strided.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {

namespace {

struct Moments {
  double mean, variance;
};

Moments moments_of(std::span<const float> values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (float value : values) sum += value;
  const double mean = sum / count;
  for (float value : values) squares += (value - mean) * (value - mean);
  return {mean, squares / count};
}

// A parameter with the shape of one row, or one that broadcasts to it.
std::vector<float> row_parameter(const Call& call, size_t input, const Shape& row) {
  const Tensor& tensor = call.input(input);
  call.expect(tensor, DataType::f32);
  Shape shape = tensor.shape;
  while (shape.size() > row.size() && shape.front() == 1) shape.erase(shape.begin());
  if (shape.size() > row.size() || broadcast_shape(call, shape, row) != row)
    call.refuse("a scale or bias that differs between the normalised rows is not handled here");
  std::vector<float> values(static_cast<size_t>(product_of(row)));
  copy_strided(row, sizeof(float), {tensor.data.get(), broadcast_strides(shape, row)},
               {reinterpret_cast<std::byte*>(values.data()), row_major_strides(row)});
  return values;
}

std::vector<Tensor> layer_normalization(const Call& call) {
  const Tensor& x = call.input(0);
  call.expect(x, DataType::f32);
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", -1), x.shape.size()));
  const Shape row(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end());
  const int64_t count = product_of(row), rows = product_of(std::span(x.shape).first(axis));
  const auto scale = row_parameter(call, 1, row);
  const auto bias = call.has(2) ? row_parameter(call, 2, row) : std::vector<float>(scale.size(), 0.0f);
  const double epsilon = call.float_of("epsilon", 1e-5f);
  Shape statistics = x.shape;
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(axis), statistics.end(), 1);
  Tensor y = make_tensor(DataType::f32, x.shape), mean = make_tensor(DataType::f32, statistics);
  Tensor inverse = make_tensor(DataType::f32, statistics);
  const auto from = x.as<float>();
  const auto to = writable<float>(y), means = writable<float>(mean), inverses = writable<float>(inverse);
  if (count == 0) return {y, mean, inverse};
  parallel_for(rows, static_cast<double>(count) * 4, [&](int64_t at) {
    const auto [center, variance] = moments_of(from.subspan(at * count, count));
    const double gain = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < count; ++i)
      to[at * count + i] = static_cast<float>((from[at * count + i] - center) * gain * scale[i] + bias[i]);
    means[at] = static_cast<float>(center);
    inverses[at] = static_cast<float>(gain);
  });
  return {y, mean, inverse};
}

// Normalises `groups` parts of each sample's channels and scales each channel. `parameter`: of channel c, the index of its scale and bias.
template <typename Parameter>
Tensor normalize_channels(const Call& call, int64_t groups, Parameter parameter) {
  const Tensor& x = call.input(0);
  const int64_t channels = x.shape[1], size = product_of(std::span(x.shape).subspan(2)), count = channels / groups * size;
  const auto scale = call.input(1).as<float>(), bias = call.input(2).as<float>();
  const double epsilon = call.float_of("epsilon", 1e-5f);
  Tensor y = make_tensor(DataType::f32, x.shape);
  const auto from = x.as<float>();
  const auto to = writable<float>(y);
  if (count == 0) return y;
  parallel_for(x.shape[0] * groups, static_cast<double>(count) * 4, [&](int64_t part) {
    const auto [center, variance] = moments_of(from.subspan(part * count, count));
    const double gain = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = part * count; i < (part + 1) * count; ++i) {
      const int64_t p = parameter(i / size % channels);
      to[i] = static_cast<float>((from[i] - center) * gain * scale[p] + bias[p]);
    }
  });
  return y;
}

void check_channels(const Call& call, int64_t parameters) {
  if (call.input(0).shape.size() < 2) call.fail("the input has no channels");
  for (size_t i = 0; i < 3; ++i) call.expect(call.input(i), DataType::f32);
  for (size_t i = 1; i < 3; ++i)
    if (call.input(i).shape != Shape{parameters}) call.fail(fmt::format("scale and bias do not have {} values", parameters));
}

std::vector<Tensor> instance_normalization(const Call& call) {
  if (call.input(0).shape.size() < 3) call.fail("the input has no spatial dimensions");
  const int64_t channels = call.input(0).shape[1];
  check_channels(call, channels);
  return {normalize_channels(call, channels, [](int64_t channel) { return channel; })};
}

// Before opset 21 scale and bias are one for each group, since then one for each channel.
std::vector<Tensor> group_normalization(const Call& call) {
  const Tensor& x = call.input(0);
  if (x.shape.size() < 2) call.fail("the input has no channels");
  const int64_t groups = call.int_of("num_groups", 0), channels = x.shape[1];
  if (groups < 1 || channels % groups != 0) call.fail(fmt::format("{} channels in {} groups", channels, groups));
  const bool per_channel = call.graph.opset >= 21;
  check_channels(call, per_channel ? channels : groups);
  const int64_t group_channels = channels / groups;
  return {normalize_channels(call, groups, [=](int64_t channel) { return per_channel ? channel : channel / group_channels; })};
}

// (x - mean) / (deviation + 1e-9) over the axes, as the function that the specification defines it by.
std::vector<Tensor> mean_variance_normalization(const Call& call) {
  const Tensor& x = call.input(0);
  call.expect(x, DataType::f32);
  const size_t rank = x.shape.size();
  std::vector<bool> normalized(rank, false);
  for (const int64_t axis : call.ints_of("axes", {0, 2, 3})) normalized[static_cast<size_t>(call.axis(axis, rank))] = true;
  // The normalised axes last, so that each row is contiguous.
  const auto strides = row_major_strides(x.shape);
  Shape order;
  std::vector<int64_t> order_strides;
  int64_t count = 1;
  for (const bool last : {false, true})
    for (size_t i = 0; i < rank; ++i) {
      if (normalized[i] != last) continue;
      order.push_back(x.shape[i]);
      order_strides.push_back(strides[i]);
      if (last) count *= x.shape[i];
    }
  Tensor rows = make_tensor(DataType::f32, order), y = make_tensor(DataType::f32, x.shape);
  const auto row_strides = row_major_strides(order);
  copy_strided(order, sizeof(float), {x.data.get(), order_strides}, {writable<std::byte>(rows).data(), row_strides});
  const auto values = writable<float>(rows);
  for (size_t begin = 0; begin < values.size(); begin += static_cast<size_t>(count)) {
    const auto row = values.subspan(begin, static_cast<size_t>(count));
    const auto [mean, variance] = moments_of(row);
    for (float& value : row) value = static_cast<float>((value - mean) / (std::sqrt(variance) + 1e-9));
  }
  copy_strided(order, sizeof(float), {rows.data.get(), row_strides}, {writable<std::byte>(y).data(), order_strides});
  return {y};
}

// The statistics are float32 whatever the input is.
std::vector<Tensor> layer_normalization_with_statistics(const Call& call) {
  std::vector<Tensor> results = compute_widened(call, layer_normalization);
  for (size_t i = 1; i < results.size(); ++i) results[i] = converted(results[i], DataType::f32);
  return results;
}

const bool registered[] = {
    add_operator("GroupNormalization", widened<group_normalization>),
    add_operator("InstanceNormalization", widened<instance_normalization>),
    add_operator("LayerNormalization", layer_normalization_with_statistics),
    add_operator("MeanVarianceNormalization", widened<mean_variance_normalization>),
};

}  // namespace

}  // namespace deepgap
