// Integers in place of numbers, as quantizers write them where ranges are only known when the network runs: MatMulInteger, ConvInteger.
// With constant weights products are those of the families, of integers as they are stored; what the zero point of the source adds to them
// is taken away afterwards. Else a thread for each result multiplies plainly.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/windows.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace deepgap::gpu {
namespace {

// Returns whether an input has one element, so that it can be read at 0.
bool is_single(const Lowering& lowering, const Node& node, size_t input) { return element_count(lowering.shape(node.inputs[input])) == 1; }
bool has(const Node& node, size_t input) { return input < node.inputs.size() && node.inputs[input] != no_value; }

// A dense operand under a shape of ones, for broadcasting.
Operand single(Lowering& lowering, ValueId id) {
  Operand operand = lowering.native(id);
  operand.shape = {};
  operand.strides = {};
  return operand;
}

std::vector<int32_t> integers_of(const Tensor& tensor) {
  const auto count = static_cast<size_t>(element_count(tensor.shape));
  const auto* bytes = tensor.data.get();
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = tensor.type == DataType::u8 ? static_cast<int32_t>(std::to_integer<uint8_t>(bytes[i]))
                                            : static_cast<int8_t>(std::to_integer<uint8_t>(bytes[i]));
  return values;
}

// Weights less their zero points, [out, ...], as int8; nullopt where they are not constants or do not fit. `zero`: the input of one zero
// point, or one for each output.
std::optional<Tensor> centered_weights(const Lowering& lowering, const Node& node, size_t zero, bool outputs_last) {
  const Tensor* weights = lowering.constant(node.inputs[1]);
  if (weights == nullptr || byte_size(weights->type) != 1 || element_count(weights->shape) == 0) return std::nullopt;
  std::vector<int32_t> zeros{0};
  if (has(node, zero)) {
    const Tensor* given = lowering.constant(node.inputs[zero]);
    if (given == nullptr) return std::nullopt;
    zeros = integers_of(*given);
  }
  Shape shape = weights->shape;
  while (outputs_last && shape.size() > 2 && shape.front() == 1) shape.erase(shape.begin());
  if (outputs_last && shape.size() != 2) return std::nullopt;
  const auto outputs = static_cast<size_t>(outputs_last ? shape[1] : shape[0]);
  if (zeros.size() != 1 && zeros.size() != outputs) return std::nullopt;
  const auto values = integers_of(*weights);
  const size_t each = values.size() / outputs;
  Tensor centered = make_tensor(DataType::i8, outputs_last ? Shape{shape[1], shape[0]} : shape);
  const auto to = writable<int8_t>(centered);
  for (size_t o = 0; o < outputs; ++o)
    for (size_t k = 0; k < each; ++k) {
      const int32_t value = values[outputs_last ? k * outputs + o : o * each + k] - zeros[zeros.size() == 1 ? 0 : o];
      if (value < -128 || value > 127) return std::nullopt;
      to[o * each + k] = static_cast<int8_t>(value);
    }
  return centered;
}

bool is_read_as_float(const Lowering& lowering, ValueId id) {
  const Graph& graph = lowering.graph();
  if (std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end()) return false;
  const auto readers = consumers(graph);
  const auto& reading = readers[static_cast<size_t>(id)];
  return std::all_of(reading.begin(), reading.end(), [&](size_t reader) {
    const Operation operation = operation_of(graph, graph.nodes[reader]);
    return operation.main.op == "Cast" && attribute_int(operation.main, "to", 0) == 1;
  });
}

// Sums that a float does not hold are only made where a float is made of them anyway.
bool sums_fit(const Lowering& lowering, const Operation& operation, const Tensor& weights) {
  constexpr int64_t exact = 1 << 24;
  const auto values = weights.as<int8_t>();
  const auto each = static_cast<size_t>(element_count(weights.shape) / weights.shape[0]);
  int64_t most = 0;
  for (size_t o = 0; o * each < values.size(); ++o) {
    int64_t sum = 0;
    for (size_t k = 0; k < each; ++k) sum += std::abs(static_cast<int>(values[o * each + k]));
    most = std::max(most, sum * 255);
  }
  return most < exact || is_read_as_float(lowering, operation.output);
}

// The step that multiplies, with float sums in the form that `target` is written in.
void multiply(Lowering& lowering, const Operation& operation, Convolution problem, const Tensor& weights, const Operand& source,
              const Operand& target) {
  problem.compute = ComputeType::i8;
  problem.source = source.form.element;
  problem.in_pitch = source.form.pitch;
  problem.out_pitch = target.form.pitch;
  problem.epilogue.target = Element::f32;
  std::vector<float> scale_bias(static_cast<size_t>(2 * problem.out_pitch), 0.0F);
  std::fill_n(scale_bias.begin(), problem.out_channels, 1.0F);
  Step step{.name = operation.name, .op = operation.main.op};
  step.reads = {source.buffer};
  step.writes = {target.buffer};
  step.roles = {source.buffer, -1, -1, -1, target.buffer, -1};
  step.choice = Choice{problem, weights, std::move(scale_bias)};
  lowering.count(problem.macs(), "int8");
  lowering.step(std::move(step));
}

Operand table(Lowering& lowering, const std::vector<int32_t>& numbers, const Shape& shape) {
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
  const Form form = plain_form(Element::i32, shape);
  return {lowering.constant_bytes({bytes, bytes + numbers.size() * sizeof(int32_t)}), form, shape, strides_of(shape, form)};
}

// The sums of weights that lie within the image, by class of places along an axis: `class_of[o]`, and the taps of each class.
struct Places {
  std::vector<int32_t> class_of;
  std::vector<std::pair<int64_t, int64_t>> taps;  // first, end
};
Places places_of(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t before) {
  Places places;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t start = o * stride - before;
    int64_t first = 0, end = kernel;
    while (first < kernel && start + first * dilation < 0) ++first;
    while (end > first && start + (end - 1) * dilation >= in) --end;
    const auto known = std::find(places.taps.begin(), places.taps.end(), std::pair{first, end});
    places.class_of.push_back(static_cast<int32_t>(known - places.taps.begin()));
    if (known == places.taps.end()) places.taps.emplace_back(first, end);
  }
  return places;
}

std::vector<int32_t> sums_inside(const Convolution& p, const Tensor& weights, const Places& rows, const Places& columns) {
  const auto values = weights.as<int8_t>();
  const int64_t in_each = p.in_channels / p.groups;
  std::vector<int32_t> sums;
  for (const auto& [row, row_end] : rows.taps)
    for (const auto& [column, column_end] : columns.taps)
      for (int64_t o = 0; o < p.out_channels; ++o) {
        int32_t sum = 0;
        for (int64_t c = 0; c < in_each; ++c)
          for (int64_t y = row; y < row_end; ++y)
            for (int64_t x = column; x < column_end; ++x)
              sum += values[static_cast<size_t>(((o * in_each + c) * p.kernel_h + y) * p.kernel_w + x)];
        sums.push_back(sum);
      }
  return sums;
}

// result = sums - zero * (weights that met the image).
void take_away_zero(Lowering& lowering, const Operation& operation, const Convolution& p, const Tensor& weights, const Operand& sums,
                    const Operand& result, std::optional<Operand> zero) {
  std::vector<Operand> in{sums};
  std::string body = fmt::format("  r = (long long){};", element_here(in, 0, result.shape));
  if (zero) {
    const size_t rank = result.shape.size();
    const bool picture = operation.main.op == "ConvInteger";
    const Places rows = places_of(p.in_h, p.out_h, p.kernel_h, p.stride_h, p.dilation_h, p.pad_top),
                 columns = places_of(p.in_w, p.out_w, p.kernel_w, p.stride_w, p.dilation_w, p.pad_left);
    const auto counts = [](const auto& list) { return static_cast<int64_t>(list.size()); };
    in.push_back(*zero);
    in.push_back(table(lowering, sums_inside(p, weights, rows, columns), {counts(rows.taps), counts(columns.taps), p.out_channels}));
    in.push_back(table(lowering, rows.class_of, {p.out_h}));
    in.push_back(table(lowering, columns.class_of, {p.out_w}));
    const std::string row = picture && rank == 4 ? element_at(in, 3, {"c2"}) : "0";
    const std::string column = picture ? element_at(in, 4, {fmt::format("c{}", rank - 1)}) : "0";
    body += fmt::format("\n  r -= {} * {};", element_at(in, 1, {}),
                        element_at(in, 2, {row, column, fmt::format("c{}", picture ? 1 : rank - 1)}));
  }
  lowering.step(operation, element_kernel("zero", {result, in, Kind::integer, body}), in, {result});
}

// Operand less its zero point, at places; `zero_places`: of a zero point for each row or column.
std::string less_zero(const std::vector<Operand>& in, size_t input, std::optional<size_t> zero, const std::vector<std::string>& places,
                      const std::vector<std::string>& zero_places) {
  const std::string value = element_at(in, input, places);
  return zero ? fmt::format("({} - {})", value, element_at(in, *zero, zero_places)) : value;
}

// Inputs of a node in order, with where its zero points are among them.
struct IntegerFactors {
  std::vector<Operand> in;
  std::optional<size_t> first_zero, second_zero;
};
IntegerFactors integers_in(Lowering& lowering, const Node& node) {
  IntegerFactors found;
  for (size_t i = 0; i < node.inputs.size() && i < 4; ++i) {
    if (node.inputs[i] == no_value) continue;
    if (i == 2) found.first_zero = found.in.size();
    if (i == 3) found.second_zero = found.in.size();
    found.in.push_back(is_single(lowering, node, i) && i > 1 ? single(lowering, node.inputs[i]) : lowering.native(node.inputs[i]));
  }
  return found;
}

struct Forms {
  Form source, sums, result;
};

// The sums by the families of INT8, and what the source's zero point put into them taken away.
void run_by_family(Lowering& lowering, const Operation& operation, const Convolution& problem, const Tensor& weights, const Forms& forms) {
  const Node& node = operation.main;
  const Operand source = lowering.read(node.inputs[0], forms.source);
  const Operand sums = lowering.write(lowering.add_value(DataType::f32, lowering.shape(operation.output)), forms.sums);
  multiply(lowering, operation, problem, weights, source, sums);
  const Operand result = lowering.write(operation.output, forms.result);
  take_away_zero(lowering, operation, problem, weights, sums, result,
                 has(node, 2) ? std::optional(single(lowering, node.inputs[2])) : std::nullopt);
}

bool product_by_family(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Shape &in = lowering.shape(node.inputs[0]), &out = lowering.shape(operation.output);
  if (in.size() < 2 || element_count(in) == 0 || (has(node, 2) && !is_single(lowering, node, 2))) return false;
  auto weights = centered_weights(lowering, node, 3, true);
  if (!weights || !sums_fit(lowering, operation, *weights)) return false;
  Convolution problem;
  problem.batch = element_count(in) / in.back();
  problem.in_channels = weights->shape[1];
  problem.out_channels = weights->shape[0];
  weights->shape = {problem.out_channels, problem.in_channels, 1, 1};
  const Element source = element_of(lowering.type(node.inputs[0]));
  run_by_family(lowering, operation, problem, *weights,
                {rows_form(source, in), rows_form(Element::f32, out), plain_form(Element::i32, out)});
  return true;
}

bool product_plainly(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  IntegerFactors integers = integers_in(lowering, node);
  const Shape& out = lowering.shape(operation.output);
  const size_t rank = out.size();
  if (integers.in[0].shape.size() < 2 || integers.in[1].shape.size() < 2) return false;
  const auto place = [&](const Shape& shape, const std::string& row, const std::string& column) {
    std::vector<std::string> places;
    for (size_t axis = 0; axis + 2 < shape.size(); ++axis) places.push_back(fmt::format("c{}", axis + rank - shape.size()));
    places.push_back(row);
    places.push_back(column);
    return places;
  };
  const std::string row = fmt::format("c{}", rank - 2), column = fmt::format("c{}", rank - 1);
  // A vector of zero points is of rows, or of columns; more axes lie as the factor's.
  const auto zero_place = [&](std::optional<size_t> zero, const std::string& vector) {
    const Shape shape = zero ? integers.in[*zero].shape : Shape{};
    return shape.size() < 2 ? std::vector<std::string>{vector} : place(shape, row, column);
  };
  const std::string a =
      less_zero(integers.in, 0, integers.first_zero, place(integers.in[0].shape, row, "k"), zero_place(integers.first_zero, row));
  const std::string b =
      less_zero(integers.in, 1, integers.second_zero, place(integers.in[1].shape, "k", column), zero_place(integers.second_zero, column));
  const std::string body = fmt::format("  r = 0;\n  for (I k = 0; k < I({}); ++k) r += {} * {};", integers.in[0].shape.back(), a, b);
  const Operand result = lowering.write(operation.output, plain_form(Element::i32, out));
  lowering.count(element_count(out) * integers.in[0].shape.back(), "int8");
  lowering.step(operation, element_kernel(node.op, {result, integers.in, Kind::integer, body}), integers.in, {result});
  return true;
}

bool convolution_by_family(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Shape &in = lowering.shape(node.inputs[0]), &out = lowering.shape(operation.output);
  if (in.size() < 3 || in.size() > 4 || element_count(in) == 0 || element_count(out) == 0) return false;
  if (has(node, 2) && !is_single(lowering, node, 2)) return false;
  auto weights = centered_weights(lowering, node, 3, false);
  if (!weights || !sums_fit(lowering, operation, *weights)) return false;
  const Convolution problem = convolution_sizes(node, in, out, weights->shape);
  weights->shape = {weights->shape[0], weights->shape[1], problem.kernel_h, problem.kernel_w};
  const Element source = element_of(lowering.type(node.inputs[0]));
  run_by_family(lowering, operation, problem, *weights,
                {channels_last_form(source, in), channels_last_form(Element::f32, out), channels_last_form(Element::i32, out)});
  return true;
}

bool convolution_plainly(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  IntegerFactors integers = integers_in(lowering, node);
  const Shape &in = integers.in[0].shape, &weights = integers.in[1].shape, &out = lowering.shape(operation.output);
  const auto axes = window_axes(node, std::span(in).subspan(2), std::span(out).subspan(2), std::span(weights).subspan(2));
  const int64_t groups = attribute_int(node, "group", 1), in_each = in[1] / groups, out_each = out[1] / groups;
  std::vector<std::string> source{"c0", fmt::format("(c1 / {} * {} + i)", out_each, in_each)}, weight{"c1", "i"};
  std::string body = "  r = 0;\n", close;
  for (size_t i = 0; i < axes.size(); ++i) {
    body += fmt::format(
        "  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{\n  const long long p{0} = (long long)c{2} * {3} - {4} + t{0} * {5};\n  if (p{0} < 0 "
        "|| p{0} >= {6}) continue;\n",
        i, axes[i].kernel, i + 2, axes[i].stride, axes[i].before, axes[i].dilation, axes[i].in);
    close += "  }\n";
    source.push_back(fmt::format("p{}", i));
    weight.push_back(fmt::format("t{}", i));
  }
  body += fmt::format("  for (int i = 0; i < {}; ++i) r += {} * {};\n{}", in_each,
                      less_zero(integers.in, 0, integers.first_zero, source, {"0"}),
                      less_zero(integers.in, 1, integers.second_zero, weight, {"c1"}), close);
  const Operand result = lowering.write(operation.output, plain_form(Element::i32, out));
  lowering.count(element_count(out) * element_count(weights) / weights[0], "int8");
  lowering.step(operation, element_kernel(node.op, {result, integers.in, Kind::integer, body}), integers.in, {result});
  return true;
}

}  // namespace

bool lower_integer_product(Lowering& lowering, const Operation& operation) {
  if (operation.body != nullptr) return false;
  if (operation.main.op == "ConvInteger") return convolution_by_family(lowering, operation) || convolution_plainly(lowering, operation);
  return product_by_family(lowering, operation) || product_plainly(lowering, operation);
}

}  // namespace deepgap::gpu
