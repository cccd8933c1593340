#include "engine/gpu/recurrent.h"
#include "base/rounding.h"
#include "engine/gpu/kernel_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

constexpr int64_t most_threads = 512, most_slices = 4, most_sequences = 4, shared_limit = 48 << 10;

// The division of a block's work.
struct Division {
  int64_t blocks = 1;     // blocks of `lanes` places of the state
  int64_t units = 32;     // threads side by side
  int64_t slices = 1;     // slices of the state; each thread multiplies one
  int64_t sequences = 1;  // sequences of a block
};

int64_t shared_bytes(const RecurrentKernel& kernel, const Division& d, int64_t lanes) {
  const int64_t state = d.blocks * lanes, sums = kernel.gates() * kernel.hidden;
  const int64_t more = kernel.cell == RecurrentKernel::Cell::rnn ? 0 : kernel.hidden;  // the cell's state, or the update gate
  const int64_t reset = kernel.cell == RecurrentKernel::Cell::gru ? state : 0;
  return d.sequences * (2 * state + sums + more + reset + 1) * static_cast<int64_t>(sizeof(float));
}

std::optional<Division> division_of(const RecurrentKernel& kernel) {
  const int64_t lanes = recurrent_lanes(kernel.weights.form.element);
  Division d;
  d.blocks = divide_up(kernel.hidden, lanes);
  d.units = std::min(round_up(kernel.hidden, 32), most_threads);
  d.slices = std::clamp(most_threads / d.units, int64_t{1}, std::min(most_slices, d.blocks));
  for (d.sequences = std::min(most_sequences, kernel.batch); d.sequences > 0; --d.sequences)
    if (shared_bytes(kernel, d, lanes) <= shared_limit) return d;
  return std::nullopt;
}

// A whole kernel around `step`, which sets next[b][u] from now.
constexpr const char* frame_text = R"(
  alignas(16) __shared__ float state[2][SEQUENCES][STATE];
  __shared__ float sums[GATES][SEQUENCES][HIDDEN];
  __shared__ float more[KEEPS ? SEQUENCES : 1][KEEPS ? HIDDEN : 1];
  alignas(16) __shared__ float reset[RESETS ? SEQUENCES : 1][RESETS ? STATE : 1];
  __shared__ int lengths[SEQUENCES];
  const int first = blockIdx.x * SEQUENCES;
  const bool backwards = d == 1 || STARTS_BACKWARDS;
  const WEIGHT* weights = weight + (long long)d * (STATE / LANES) * GATES * HIDDEN * LANES;
  let_next_begin();
  wait_for_previous();
#pragma unroll 1
  for (int e = threadIdx.x; e < SEQUENCES * STATE; e += THREADS) {
    const int b = e / STATE, u = e % STATE, item = first + b;
    const bool there = item < BATCH && u < HIDDEN;
    state[0][b][u] = there ? state_at(item, u) : 0.0f;
    state[1][b][u] = 0.0f;
    if (RESETS) reset[b][u] = 0.0f;
    if (KEEPS && u < HIDDEN) more[b][u] = there ? cell_at(item, u) : 0.0f;
  }
  if (threadIdx.x < SEQUENCES) {
    const int item = first + threadIdx.x;
    const int length = item < BATCH ? length_of(item) : 0;
    lengths[threadIdx.x] = length < 0 ? 0 : length > LENGTH ? LENGTH : length;
  }
  __syncthreads();
#pragma unroll 1
  for (int step = 0; step < LENGTH; ++step) {
    const float (*now)[STATE] = state[step & 1];
    float (*next)[STATE] = state[(step + 1) & 1];
)";

// Ends each unit of each sequence: `time` is the step's place in it, x(gate) the products with the input and their bias, r(gate) those with
// the state and theirs. The texts of cells set the state h and what else lasts, c.
constexpr const char* each_text = R"(
#pragma unroll 1
    for (int e = threadIdx.x; e < SEQUENCES * HIDDEN; e += THREADS) {
      const int b = e / HIDDEN, u = e % HIDDEN, item = first + b;
      const bool lasts = item < BATCH && step < lengths[b];
      const int time = backwards && lasts ? lengths[b] - 1 - step : step;
      float h = now[b][u], c = KEEPS ? more[b][u] : 0.0f;
      const auto x = [&](int gate) { return product_at(item, time, gate, u) + bias_at(gate, u); };
      const auto r = [&](int gate) { return sums[gate - HELD][b][u] + bias_at(GATES + gate, u); };
      const auto peephole = [&](int gate) { return peephole_at(gate, u); };
      (void)peephole;
      if (lasts) {
)";

constexpr const char* end_text = R"(
      }
      next[b][u] = h;
      if (KEEPS) more[b][u] = c;
      if (item < BATCH) put_output(item, time, u, lasts ? h : 0.0f);
    }
)";

constexpr const char* rnn_text = R"(
        h = act0(d, x(0) + r(0));
)";

constexpr const char* lstm_text = R"(
        const float in = act0(d, x(0) + r(0) + peephole(0) * c);
        const float forget = COUPLES ? 1.0f - in : act0(d, x(2) + r(2) + peephole(2) * c);
        c = forget * c + in * act1(d, x(3) + r(3));
        h = act0(d, x(1) + r(1) + peephole(1) * c) * act2(d, c);
)";

constexpr const char* gru_after_text = R"(
        const float update = act0(d, x(0) + r(0));
        const float candidate = act1(d, x(2) + act0(d, x(1) + r(1)) * r(2));
        h = (1.0f - update) * candidate + update * h;
)";

// The gates that the third product waits for.
constexpr const char* gru_gates_text = R"(
        more[b][u] = act0(d, x(0) + r(0));
        reset[b][u] = act0(d, x(1) + r(1)) * h;
)";

constexpr const char* gru_before_text = R"(
        const float candidate = act1(d, x(2) + r(2));
        h = (1.0f - c) * candidate + c * h;
)";

// `count` gates from `first`: their products with `source`, then what each unit makes of them.
std::string gates_text(int count, int first, const char* source, const std::string& each) {
  return fmt::format("    multiply_all<{0}>(sums, weights, {1}, {2});\n    {{\n    constexpr int HELD = {1};\n{3}    }}\n", count, first,
                     source, each);
}

// Returns the text that ends a unit after all products. A GRU that resets its state before the last product has other texts.
const char* cell_text(const RecurrentKernel& kernel) {
  using Cell = RecurrentKernel::Cell;
  return kernel.cell == Cell::rnn ? rnn_text : kernel.cell == Cell::lstm ? lstm_text : gru_after_text;
}

std::string step_text(const RecurrentKernel& kernel) {
  const auto ended = [](const char* text) { return std::string(each_text) + text + end_text; };
  if (!kernel.resets_before()) return gates_text(static_cast<int>(kernel.gates()), 0, "now", ended(cell_text(kernel)));
  const std::string gates = std::string(each_text) + gru_gates_text + "      }\n    }\n";
  return gates_text(2, 0, "now", gates) + "    __syncthreads();\n" + gates_text(1, 2, "reset", ended(gru_before_text));
}

// name[offset] as a number.
std::string read_text(const Operand& operand, const std::string& name, const std::string& offset) {
  return load_text(operand.form.element, fmt::format("{}[{}]", name, offset));
}

std::string state_place(const RecurrentKernel& kernel) {
  return kernel.batch_first ? fmt::format("((item) * {} + d) * HIDDEN + (u)", kernel.directions) : "(d * BATCH + (item)) * HIDDEN + (u)";
}

// Functions in the kernel over what it reads, as lambdas: zero where it is not there. `state` is the place of the state.
std::string reading_text(const RecurrentKernel& kernel, const std::string& state) {
  const auto one = [](const std::optional<Operand>& operand, const char* name, const std::string& place) {
    return operand ? read_text(*operand, name, place) : std::string("0.0f");
  };
  std::string text;
  const auto function = [&](const char* name, const std::string& value, const char* parameters = "int item, int u") {
    text += fmt::format("  const auto {} = [&]({}) {{ return {}; }};\n", name, parameters, value);
  };
  function("state_at", one(kernel.state, "initial", state));
  function("cell_at", kernel.cell == RecurrentKernel::Cell::lstm ? one(kernel.cell_state, "initial_cell", state) : "0.0f");
  function("length_of", kernel.lengths ? "(int)given_lengths[item]" : "LENGTH", "int item");
  function("bias_at", one(kernel.bias, "bias", "(d * 2 * GATES + gate) * HIDDEN + u"), "int gate, int u");
  function("peephole_at", one(kernel.peepholes, "peepholes", "(d * 3 + gate) * HIDDEN + u"), "int gate, int u");
  const std::string row = kernel.batch_first ? "((long long)item * LENGTH + time)" : "((long long)time * BATCH + item)";
  function(
      "product_at",
      read_text(kernel.products, "products", fmt::format("{} * {} + (d * GATES + gate) * HIDDEN + u", row, kernel.products.strides[0])),
      "int item, int time, int gate, int u");
  const std::string place = kernel.batch_first ? fmt::format("({} * {} + d) * HIDDEN + u", row, kernel.directions)
                                               : fmt::format("(((long long)time * {} + d) * BATCH + item) * HIDDEN + u", kernel.directions);
  text += "  const auto put_output = [&](int item, int time, int u, float h) {\n";
  if (kernel.outputs) text += fmt::format("    outputs[{}] = {};\n", place, store_text(*kernel.outputs, Kind::number, "h"));
  return text + "  };\n";
}

std::string last_text(const RecurrentKernel& kernel) {
  if (!kernel.last && !kernel.last_cell) return "";
  std::string text =
      "  for (int e = threadIdx.x; e < SEQUENCES * HIDDEN; e += THREADS) {\n    const int b = e / HIDDEN, u = e % HIDDEN, item = first + "
      "b;\n"
      "    if (item >= BATCH) continue;\n";
  const std::string place = state_place(kernel);
  if (kernel.last) text += fmt::format("    last[{}] = {};\n", place, store_text(*kernel.last, Kind::number, "state[LENGTH & 1][b][u]"));
  if (kernel.last_cell) text += fmt::format("    last_cell[{}] = {};\n", place, store_text(*kernel.last_cell, Kind::number, "more[b][u]"));
  return text + "  }\n";
}

std::string activations_text(const RecurrentKernel& kernel) {
  std::string text;
  for (size_t i = 0; i < kernel.activations[0].size(); ++i)
    text += fmt::format("__device__ __forceinline__ float act{}(int d, float x) {{ return d == 0 ? {} : {}; }}\n", i,
                        kernel.activations[0][i], kernel.activations.back()[i]);
  return text;
}

std::string constant_text(const char* name, int64_t value) { return fmt::format("static constexpr int {} = {};\n", name, value); }

std::string sizes_text(const RecurrentKernel& kernel, int64_t threads) {
  return constant_text("LENGTH", kernel.length) + constant_text("BATCH", kernel.batch) + constant_text("HIDDEN", kernel.hidden) +
         constant_text("GATES", kernel.gates()) + constant_text("THREADS", threads) +
         constant_text("COUPLES", kernel.couples_gates ? 1 : 0) + constant_text("STARTS_BACKWARDS", kernel.starts_backwards ? 1 : 0);
}

std::string constants_text(const RecurrentKernel& kernel, const Division& d) {
  const Element element = kernel.weights.form.element;
  const int64_t lanes = recurrent_lanes(element);
  const bool gru = kernel.cell == RecurrentKernel::Cell::gru;
  std::string text = fmt::format("typedef {} WEIGHT;\n", c_type(element)) + sizes_text(kernel, d.units * d.slices);
  const auto constant = [&](const char* name, int64_t value) { text += constant_text(name, value); };
  constant("LANES", lanes);
  constant("STATE", d.blocks * lanes);
  constant("UNITS", d.units);
  constant("ALL_UNITS", round_up(kernel.hidden, d.units));
  constant("SLICES", d.slices);
  constant("SEQUENCES", d.sequences);
  constant("KEEPS", kernel.cell == RecurrentKernel::Cell::rnn ? 0 : 1);
  constant("RESETS", gru ? 1 : 0);
  return text + fmt::format("__device__ __forceinline__ float weight_of(WEIGHT w) {{ return {}; }}\n", load_text(element, "w"));
}

// Operands of a kernel in the order of its parameters.
struct Parameters {
  std::string text;
  std::vector<Operand> read, written;
  void add(const std::optional<Operand>& operand, const char* name, bool is_read) {
    if (!operand) return;
    text += fmt::format("{}{}{}* {}", text.empty() ? "" : ", ", is_read ? "const " : "", c_type(operand->form.element), name);
    (is_read ? read : written).push_back(*operand);
  }
  void add_given(const RecurrentKernel& kernel) {
    add(kernel.bias, "bias", true);
    add(kernel.lengths, "given_lengths", true);
    add(kernel.state, "initial", true);
    add(kernel.cell_state, "initial_cell", true);
    add(kernel.peepholes, "peepholes", true);
  }
};

RecurrentLaunch launch_of(const std::string& entry, std::string text, Parameters parameters, unsigned threads) {
  Launch launch = launch_over(entry, std::move(text), 1, parameters.read.size() + parameters.written.size(), threads);
  return {std::move(launch), std::move(parameters.read), std::move(parameters.written)};
}

Parameters parameters_of(const RecurrentKernel& kernel) {
  Parameters all;
  all.add(kernel.products, "products", true);
  all.add(kernel.weights, "weight", true);
  all.add_given(kernel);
  all.add(kernel.outputs, "outputs", false);
  all.add(kernel.last, "last", false);
  all.add(kernel.last_cell, "last_cell", false);
  return all;
}

// Around the text of a cell, in a kernel of one step: each thread ends a unit of a sequence.
constexpr const char* one_step_text = R"(
  let_next_begin();
  const int e = blockIdx.x * THREADS + threadIdx.x;
  wait_for_previous();
  if (e >= BATCH * HIDDEN) return;
  const int item = e / HIDDEN, u = e % HIDDEN, step = *step_at;
  const int given = length_of(item), length = given < 0 ? 0 : given > LENGTH ? LENGTH : given;
  const bool backwards = d == 1 || STARTS_BACKWARDS, lasts = step < length;
  const int time = backwards && lasts ? length - 1 - step : step;
  float h = state_at(item, u), c = cell_at(item, u);
  const auto x = [&](int gate) { return product_at(item, time, gate, u) + bias_at(gate, u); };
  const auto r = [&](int gate) { return sum_at(item, gate, u) + bias_at(GATES + gate, u); };
  const auto peephole = [&](int gate) { return peephole_at(gate, u); };
  (void)peephole;
  (void)c;
  if (lasts) {
)";

std::string sum_text(const RecurrentStep& step) {
  const std::string place = step.sums ? fmt::format("(long long)item * {} + gate * HIDDEN + u", step.sums->strides[0]) : "";
  return fmt::format("  const auto sum_at = [&](int item, int gate, int u) {{ return {}; }};\n",
                     step.sums ? read_text(*step.sums, "sums", place) : "0.0f");
}

}  // namespace

int64_t recurrent_lanes(Element element) { return vector_bytes / static_cast<int64_t>(byte_size(element)); }

Shape packed_recurrence(const RecurrentKernel& kernel, Element element) {
  const int64_t lanes = recurrent_lanes(element);
  return {kernel.directions, divide_up(kernel.hidden, lanes), kernel.gates() * kernel.hidden, lanes};
}

std::optional<RecurrentLaunch> recurrent_kernel(const std::string& stem, const RecurrentKernel& kernel) {
  const auto division = division_of(kernel);
  if (!division) return std::nullopt;
  const auto threads = static_cast<unsigned>(division->units * division->slices);
  const std::string entry = kernel_name(stem);
  Parameters parameters = parameters_of(kernel);
  std::string text = generated_prelude() + constants_text(kernel, *division) + activations_text(kernel) + kernel_file("recurrent_products");
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n", threads, entry, parameters.text);
  text += "  const int d = blockIdx.y;\n" + reading_text(kernel, state_place(kernel)) + frame_text;
  text += step_text(kernel) + "    __syncthreads();\n  }\n" + last_text(kernel) + "}\n";
  RecurrentLaunch made = launch_of(entry, std::move(text), std::move(parameters), threads);
  made.launch.grid = {static_cast<unsigned>(divide_up(kernel.batch, division->sequences)), static_cast<unsigned>(kernel.directions), 1};
  return made;
}

RecurrentLaunch recurrent_step(const std::string& stem, RecurrentKernel kernel, const RecurrentStep& step) {
  constexpr unsigned threads = 256;
  const std::string entry = kernel_name(stem);
  kernel.state = step.state;
  kernel.cell_state = step.cell_state;
  Parameters parameters;
  parameters.add(step.number, "step_at", true);
  parameters.add(kernel.products, "products", true);
  parameters.add(step.sums, "sums", true);
  parameters.add_given(kernel);
  parameters.add(step.next, "next", false);
  parameters.add(step.next_cell, "next_cell", false);
  parameters.add(kernel.outputs, "outputs", false);
  std::string text = generated_prelude() + sizes_text(kernel, threads) + activations_text(kernel);
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n", threads, entry, parameters.text);
  text += fmt::format("  constexpr int d = {};\n", step.direction) + reading_text(kernel, "(item) * HIDDEN + (u)") + sum_text(step);
  text += std::string(one_step_text) + cell_text(kernel) + "  }\n";
  text += fmt::format("  next[e] = {};\n", store_text(step.next, Kind::number, "h"));
  if (step.next_cell) text += "  next_cell[e] = c;\n";
  text += "  put_output(item, time, u, lasts ? h : 0.0f);\n}\n";
  RecurrentLaunch made = launch_of(entry, std::move(text), std::move(parameters), threads);
  made.launch.grid[0] = static_cast<unsigned>(divide_up(kernel.batch * kernel.hidden, int64_t{threads}));
  return made;
}

}  // namespace deepgap::gpu
