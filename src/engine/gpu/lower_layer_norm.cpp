// LayerNormalization of dense rows: a warp for each row, 16 bytes a thread at once, all of the row in registers.
#include "engine/gpu/generated.h"
#include "engine/gpu/node_inputs.h"
#include "engine/gpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

constexpr int64_t most_numbers = 64;  // of one thread
constexpr int rows_of_block = 4;

constexpr const char* over_warp = R"(
__device__ __forceinline__ float over_warp(float x) {
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
)";
constexpr const char* stores = R"(
__device__ __forceinline__ void put(R* to, const R (&w)[V]) {
  if (sizeof(w) == 16) *(uint4*)to = *(const uint4*)w;
  else *(uint2*)to = *(const uint2*)w;
}
)";
constexpr const char* body = R"(
  let_next_begin();
  const I index = I(blockIdx.x) * 4 + threadIdx.x / 32;
  const bool there = index < ROWS;
  const I row = there ? index : 0;
  const int lane = threadIdx.x % 32;
  float v[E][V];
  float sum = 0;
  wait_for_previous();
#pragma unroll
  for (int e = 0; e < E; ++e) {
    alignas(16) T w[V] = {};
    const int at = (lane + 32 * e) * V;
    if (at < COUNT) *(uint4*)w = *(const uint4*)(x + row * COUNT + at);
#pragma unroll
    for (int i = 0; i < V; ++i) sum += v[e][i] = GET(w[i]);
  }
  const float mean = over_warp(sum) / COUNT;
  float squares = 0;
#pragma unroll
  for (int e = 0; e < E; ++e)
#pragma unroll
    for (int i = 0; i < V; ++i) {
      v[e][i] -= mean;
      if ((lane + 32 * e) * V < COUNT) squares += v[e][i] * v[e][i];
    }
  const float inverse = 1.0f / sqrtf(over_warp(squares) / COUNT + EPSILON);
#pragma unroll
  for (int e = 0; e < E; ++e) {
    const int at = (lane + 32 * e) * V;
    if (at >= COUNT || !there) continue;
    alignas(16) R w[V];
    alignas(16) float s[V], b[V];
#pragma unroll
    for (int i = 0; i < V; i += 4) {
      *(uint4*)(s + i) = *(const uint4*)(scale + at + i);
      *(uint4*)(b + i) = *(const uint4*)(bias + at + i);
    }
#pragma unroll
    for (int i = 0; i < V; ++i) w[i] = PUT(v[e][i] * inverse * s[i] + b[i]);
    put(out + row * COUNT + at, w);
  }
}
)";

bool is_parameter(const Operand& operand, int64_t count) {
  return operand.form.element == Element::f32 && elements_of(operand.shape, operand.form) == count && element_count(operand.shape) == count;
}

// Numbers that one thread of a warp has of a row of `count`.
int64_t numbers_of_thread(int64_t count, Element element) {
  const int64_t vector = vector_bytes / static_cast<int64_t>(byte_size(element));
  return (count + 32 * vector - 1) / (32 * vector) * vector;
}

std::string kernel_text(const Node& node, const Operand& x, const Operand& out, const std::string& entry) {
  const Element element = x.form.element;
  const int64_t count = x.shape.back(), rows = element_count(x.shape) / count;
  const int64_t vector = vector_bytes / static_cast<int64_t>(byte_size(element)), each = numbers_of_thread(count, element) / vector;
  std::string source = fmt::format("typedef long long I;\ntypedef {} T;\ntypedef {} R;\n#define ROWS {}LL\n#define COUNT {}\n",
                                   c_type(element), c_type(out.form.element), rows, count);
  source +=
      fmt::format("#define E {}\n#define V {}\n#define EPSILON {}\n", each, vector, number_text(attribute_float(node, "epsilon", 1e-5F)));
  source += fmt::format("#define GET(w) {}\n#define PUT(v) {}\n", load_text(element, "w"), store_text(out, Kind::number, "v"));
  source += generated_prelude() + over_warp + stores;
  source +=
      fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(const T* x, const float* scale, const float* bias, R* out) {{{}",
                  32 * rows_of_block, entry, body);
  return source;
}

}  // namespace

bool lower_layer_norm(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const bool whole = node.inputs.size() == 3 && node.inputs[2] != no_value && operation.posts.empty() && !operation.result;
  if (!whole || element_count(lowering.shape(operation.output)) == 0) return false;
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != no_value) return false;
  std::vector<Operand> in;
  for (ValueId id : node.inputs) in.push_back(lowering.native(id));
  const Operand& x = in[0];
  const auto first = static_cast<size_t>(NodeInputs(lowering, node).axis(attribute_int(node, "axis", -1), x.shape.size()));
  const Element element = x.form.element;
  const int64_t count = x.shape.back(), vector = vector_bytes / static_cast<int64_t>(byte_size(element));
  const Element result = lowering.stored(operation.output);
  const bool narrower = byte_size(element) == 2 && result == Element::e4m3;
  if (first + 1 != x.shape.size() || kind_of(element) != Kind::number || (element != result && !narrower)) return false;
  if (!same_places(x.shape, x.form, plain_form(element, x.shape)) || count % vector != 0 ||
      numbers_of_thread(count, element) > most_numbers)
    return false;
  if (!is_parameter(in[1], count) || !is_parameter(in[2], count)) return false;
  const Operand out = lowering.write(operation.output, plain_form(result, x.shape));
  const int64_t rows = element_count(x.shape) / count;
  const std::string entry = lowering.new_entry(node.op);
  Launch launch = launch_over(entry, kernel_text(node, x, out, entry), 1, 4, 32 * rows_of_block);
  launch.grid = {static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block), 1, 1};
  lowering.step(operation, std::move(launch), in, {out});
  return true;
}

}  // namespace deepgap::gpu
