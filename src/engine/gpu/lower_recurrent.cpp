// LSTM, GRU and RNN: one product with the input for all steps and both directions, by the families of convolution.h where the weights are
// constant, then the steps (recurrent.h).
#include "engine/gpu/operators.h"
#include "engine/gpu/recurrent.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap::gpu {
namespace {

using Cell = RecurrentKernel::Cell;

// An activation of x by its ONNX name, alpha and beta as `a` and `b`; empty for one that is not known.
std::string activation(const std::string& name, const std::string& x, float alpha, float beta) {
  const std::string a = number_text(alpha), b = number_text(beta);
  if (name == "Sigmoid") return fmt::format("fmaf(tanhf(0.5f * {}), 0.5f, 0.5f)", x);  // a division would take registers
  if (name == "Tanh") return fmt::format("tanhf({})", x);
  if (name == "Relu") return fmt::format("fmaxf({}, 0.0f)", x);
  if (name == "Affine") return fmt::format("{} * {} + {}", a, x, b);
  if (name == "LeakyRelu") return fmt::format("({0} < 0.0f ? {1} * {0} : {0})", x, a);
  if (name == "ThresholdedRelu") return fmt::format("({0} >= {1} ? {0} : 0.0f)", x, a);
  if (name == "ScaledTanh") return fmt::format("{} * tanhf({} * {})", a, b, x);
  if (name == "HardSigmoid") return fmt::format("fminf(fmaxf({} * {} + {}, 0.0f), 1.0f)", a, x, b);
  if (name == "Elu") return fmt::format("({0} < 0.0f ? {1} * expm1f({0}) : {0})", x, a);
  if (name == "Softsign") return fmt::format("{0} / (1.0f + fabsf({0}))", x);
  if (name == "Softplus") return fmt::format("log1pf(expf({}))", x);
  return {};
}

float default_alpha(const std::string& name) {
  return name == "LeakyRelu" ? 0.01F : name == "HardSigmoid" ? 0.2F : name == "Sigmoid" || name == "Tanh" ? 0.0F : 1.0F;
}
float default_beta(const std::string& name) { return name == "HardSigmoid" ? 0.5F : name == "ScaledTanh" ? 1.0F : 0.0F; }

template <typename T>
std::vector<T> list_of(const Node& node, const char* name) {
  const auto found = node.attributes.find(name);
  const auto* values = found == node.attributes.end() ? nullptr : std::get_if<std::vector<T>>(&found->second);
  return values == nullptr ? std::vector<T>{} : *values;
}

// Sets the activations of each direction; returns false if one is not known. An LSTM's cell state is not clipped.
bool set_activations(const Node& node, RecurrentKernel& kernel) {
  const std::vector<std::string> usual = kernel.cell == Cell::lstm  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                         : kernel.cell == Cell::gru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                                    : std::vector<std::string>{"Tanh"};
  const auto directions = static_cast<size_t>(kernel.directions);
  auto names = list_of<std::string>(node, "activations");
  if (names.empty())
    for (size_t d = 0; d < directions; ++d) names.insert(names.end(), usual.begin(), usual.end());
  if (names.size() != usual.size() * directions) return false;
  const auto alphas = list_of<float>(node, "activation_alpha"), betas = list_of<float>(node, "activation_beta");
  const float clip = attribute_float(node, "clip", 0.0F);
  const std::string clipped = clip > 0 ? fmt::format("fminf(fmaxf(x, -{0}), {0})", number_text(clip)) : "x";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i % usual.size() == 0) kernel.activations.emplace_back();
    kernel.activations.back().push_back(activation(names[i], i % usual.size() == 2 ? "x" : clipped,
                                                   i < alphas.size() ? alphas[i] : default_alpha(names[i]),
                                                   i < betas.size() ? betas[i] : default_beta(names[i])));
    if (kernel.activations.back().back().empty()) return false;
  }
  return true;
}

bool has(const Node& node, size_t input) { return input < node.inputs.size() && node.inputs[input] != no_value; }

// Row-major as it is stored, under another shape of as many elements.
ValueId reshaped(Lowering& lowering, ValueId id, const Shape& shape) {
  if (const Tensor* constant = lowering.constant(id)) {
    Tensor flat = *constant;
    flat.shape = shape;
    return lowering.add_constant(flat);
  }
  const ValueId flat = lowering.add_value(lowering.type(id), shape);
  const Element element = lowering.native(id).form.element;
  lowering.alias(flat, lowering.read(id, plain_form(element, lowering.shape(id))), plain_form(element, shape));
  return flat;
}

// `a` [rows, depth] by the turned `b` [columns, depth]; nullopt where no product has these types.
std::optional<Operand> product_of(Lowering& lowering, const std::string& name, ValueId a, ValueId b) {
  const ValueId products = lowering.add_value(lowering.type(a), {lowering.shape(a)[0], lowering.shape(b)[0]});
  Node product{.name = name, .op = "Gemm", .inputs = {a, b}, .outputs = {products}};
  product.attributes["transB"] = int64_t{1};
  if (!lower_operation(lowering, operation_of(lowering.graph(), product))) return std::nullopt;
  return lowering.native(products);
}

// [steps and sequences, directions * gates * hidden].
std::optional<Operand> input_products(Lowering& lowering, const Node& node, const RecurrentKernel& kernel) {
  const int64_t size = lowering.shape(node.inputs[0])[2], columns = kernel.directions * kernel.gates() * kernel.hidden;
  return product_of(lowering, node.name + " inputs", reshaped(lowering, node.inputs[0], {kernel.length * kernel.batch, size}),
                    reshaped(lowering, node.inputs[1], {columns, size}));
}

// Packs constant float32 weights once, others by a kernel in each run.
Operand recurrent_weights(Lowering& lowering, const Operation& operation, const RecurrentKernel& kernel) {
  const ValueId r = operation.main.inputs[2];
  const Tensor* constant = lowering.constant(r);
  const bool is_float = constant != nullptr && constant->type == DataType::f32;
  const Element element = is_float ? lowering.numbers().stored : lowering.native(r).form.element;
  const Shape shape = packed_recurrence(kernel, element);
  const Form form = plain_form(element, shape);
  if (!is_float) {
    const Operand from = lowering.native(r);
    Operand packed = lowering.write(lowering.add_value(lowering.type(r), shape), form);
    const std::string k = fmt::format("(c1 * I({}) + c3)", shape[3]);
    const std::string body = fmt::format("  r = 0;\n  if ({} < I({})) r = {};", k, kernel.hidden, element_at({from}, 0, {"c0", "c2", k}));
    lowering.step(operation, element_kernel("pack", {packed, {from}, Kind::number, body}), {from}, {packed});
    return packed;
  }
  std::vector<std::byte> bytes(static_cast<size_t>(element_count(shape)) * byte_size(element));
  const auto numbers = constant->as<float>();
  const int64_t rows = shape[2], lanes = shape[3];
  for (int64_t d = 0; d < shape[0]; ++d)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t k = 0; k < kernel.hidden; ++k)
        put_number(bytes, static_cast<size_t>(((d * shape[1] + k / lanes) * rows + row) * lanes + k % lanes), element,
                   numbers[static_cast<size_t>((d * rows + row) * kernel.hidden + k)]);
  return {lowering.constant_bytes(std::move(bytes)), form, shape, strides_of(shape, form)};
}

bool set_sizes(const Lowering& lowering, const Node& node, RecurrentKernel& kernel) {
  const Shape &x = lowering.shape(node.inputs[0]), &r = lowering.shape(node.inputs[2]);
  const std::string direction = attribute_string(node, "direction", "forward");
  kernel.cell = node.op == "LSTM" ? Cell::lstm : node.op == "GRU" ? Cell::gru : Cell::rnn;
  kernel.batch_first = attribute_int(node, "layout", 0) != 0;
  kernel.length = x.at(kernel.batch_first ? 1 : 0);
  kernel.batch = x.at(kernel.batch_first ? 0 : 1);
  kernel.hidden = r.at(2);
  kernel.directions = r.at(0);
  kernel.starts_backwards = direction == "reverse";
  kernel.couples_gates = attribute_int(node, "input_forget", 0) != 0;
  kernel.resets_after = attribute_int(node, "linear_before_reset", 0) != 0;
  return element_count(x) > 0 && element_count(r) > 0;
}

std::optional<Operand> plain_input(Lowering& lowering, const Node& node, size_t input) {
  if (!has(node, input)) return std::nullopt;
  const ValueId id = node.inputs[input];
  return lowering.read(id, plain_form(lowering.native(id).form.element, lowering.shape(id)));
}

std::optional<Operand> plain_output(Lowering& lowering, const Node& node, size_t output) {
  if (output >= node.outputs.size() || node.outputs[output] == no_value) return std::nullopt;
  const ValueId id = node.outputs[output];
  return lowering.write(id, plain_form(lowering.stored(id), lowering.shape(id)));
}

// In steps where a block alone would take longer to read the weights than the launches take.
bool is_large(const Lowering& lowering, const Node& node, const RecurrentKernel& kernel) {
  const Tensor* weights = lowering.constant(node.inputs[2]);
  return kernel.hidden >= 256 && weights != nullptr && weights->type == DataType::f32 && !kernel.resets_before();
}

// The weights of the state of one direction, [gates * hidden, hidden].
ValueId weights_of(Lowering& lowering, const Tensor& all, int64_t direction) {
  Tensor one = make_tensor(all.type, {all.shape[1], all.shape[2]});
  const size_t count = static_cast<size_t>(element_count(one.shape));
  std::ranges::copy(all.as<float>().subspan(static_cast<size_t>(direction) * count, count), writable<float>(one).begin());
  return lowering.add_constant(one);
}

void copy_elements(Lowering& lowering, const Operation& operation, const Operand& to, const Operand& from, const std::string& element) {
  lowering.step(operation, element_kernel("copy", {to, {from}, Kind::number, "  r = " + element + ";"}), {from}, {to});
}

// Steps of one direction; the states after the last are in `state` and `cell_state`.
class DirectionSteps {
 public:
  DirectionSteps(Lowering& lowering, const Operation& operation, const RecurrentKernel& kernel, int64_t direction)
      : lowering_(lowering),
        operation_(operation),
        kernel_(kernel),
        direction_(direction),
        weights_(weights_of(lowering, *lowering.constant(operation.main.inputs[2]), direction)) {
    state_id_ = lowering_.add_value(lowering_.type(operation_.main.inputs[0]), shape());
    if (kernel.state) {
      state = lowering_.write(state_id_, plain_form(lowering_.stored(state_id_), shape()));
      copy_elements(lowering_, operation_, *state, *kernel.state, element_of_all(*kernel.state));
    }
    if (kernel.cell_state) {
      cell_state = new_cell_state();
      copy_elements(lowering_, operation_, *cell_state, *kernel.cell_state, element_of_all(*kernel.cell_state));
    }
  }

  void run(int64_t number) {
    RecurrentStep step{.direction = direction_, .number = table<int32_t>(lowering_, Element::i32, {static_cast<int32_t>(number)})};
    step.state = state;
    step.cell_state = cell_state;
    if (state) step.sums = product_of(lowering_, operation_.name + " states", state_id_, weights_);
    if (state && !step.sums) lowering_.refuse(operation_, "with states of this type");
    state_id_ = lowering_.add_value(lowering_.type(operation_.main.inputs[0]), shape());
    step.next = lowering_.write(state_id_, plain_form(lowering_.stored(state_id_), shape()));
    step.next.rounded = lowering_.numbers().compute == ComputeType::tf32 && step.next.form.element == Element::f32;
    if (kernel_.cell == Cell::lstm) step.next_cell = new_cell_state();
    state = step.next;
    cell_state = step.next_cell;
    RecurrentLaunch made = recurrent_step(operation_.main.op, kernel_, step);
    lowering_.step(operation_, std::move(made.launch), made.read, made.written);
  }

  std::optional<Operand> state, cell_state;

 private:
  Shape shape() const { return {kernel_.batch, kernel_.hidden}; }
  Operand new_cell_state() {
    const ValueId id = lowering_.add_value(DataType::f32, shape());
    return lowering_.write(id, plain_form(Element::f32, shape()));
  }
  // This direction's element of a state as ONNX has it, at c0 of the batch.
  std::string element_of_all(const Operand& all) const {
    const std::string d = std::to_string(direction_);
    return kernel_.batch_first ? element_at({all}, 0, {"c0", d, "c1"}) : element_at({all}, 0, {d, "c0", "c1"});
  }

  Lowering& lowering_;
  const Operation& operation_;
  const RecurrentKernel& kernel_;
  int64_t direction_;
  ValueId weights_, state_id_ = no_value;
};

void lower_in_steps(Lowering& lowering, const Operation& operation, const RecurrentKernel& kernel) {
  std::vector<Operand> states, cell_states;
  for (int64_t d = 0; d < kernel.directions; ++d) {
    DirectionSteps steps(lowering, operation, kernel, d);
    for (int64_t number = 0; number < kernel.length; ++number) steps.run(number);
    states.push_back(*steps.state);
    if (steps.cell_state) cell_states.push_back(*steps.cell_state);
  }
  // The element of direction c0, or c1 with sequences first.
  const auto join = [&](const std::optional<Operand>& to, const std::vector<Operand>& from) {
    if (!to) return;
    const std::string d = kernel.batch_first ? "c1" : "c0", item = kernel.batch_first ? "c0" : "c1";
    std::string element = element_at(from, 0, {item, "c2"});
    if (kernel.directions == 2) element = fmt::format("{} == 0 ? {} : {}", d, element, element_at(from, 1, {item, "c2"}));
    lowering.step(operation, element_kernel("last", {*to, from, Kind::number, "  r = " + element + ";"}), from, {*to});
  };
  join(kernel.last, states);
  join(kernel.last_cell, cell_states);
}

}  // namespace

bool lower_recurrent(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  RecurrentKernel kernel;
  if (operation.body != nullptr || !set_sizes(lowering, node, kernel) || !set_activations(node, kernel)) return false;
  for (size_t input : {0, 1, 2, 3, 5, 6, 7})
    if (has(node, input) && kind_of(lowering.native(node.inputs[input]).form.element) != Kind::number) return false;
  const auto products = input_products(lowering, node, kernel);
  if (!products) return false;
  kernel.products = *products;
  kernel.bias = plain_input(lowering, node, 3);
  kernel.lengths = plain_input(lowering, node, 4);
  kernel.state = plain_input(lowering, node, 5);
  kernel.cell_state = plain_input(lowering, node, 6);
  kernel.peepholes = plain_input(lowering, node, 7);
  kernel.outputs = plain_output(lowering, node, 0);
  kernel.last = plain_output(lowering, node, 1);
  kernel.last_cell = plain_output(lowering, node, 2);
  if (is_large(lowering, node, kernel)) {
    lower_in_steps(lowering, operation, kernel);
    return true;
  }
  kernel.weights = recurrent_weights(lowering, operation, kernel);
  auto made = recurrent_kernel(node.op, kernel);
  if (!made) lowering.refuse(operation, fmt::format("with states of {}", kernel.hidden));
  lowering.count(kernel.length * kernel.batch * kernel.directions * kernel.gates() * kernel.hidden * kernel.hidden, "fp32");
  lowering.step(operation, std::move(made->launch), made->read, made->written);
  return true;
}

}  // namespace deepgap::gpu
