#include "engine/gpu/kernel_text.h"

#include "engine/gpu/float8.h"
#include "engine/gpu/integer_epilogue.h"
#include "model/eval/half.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace deepgap::gpu {
namespace {

// Beyond this a sum of integers does not fit the short way to a float.
constexpr int64_t short_sum = 1 << 22;

bool is_integer(Element element) { return element == Element::i8 || element == Element::u8; }

std::string sum_text(const Convolution& problem) {
  if (problem.compute != ComputeType::i8) return "typedef float Sum;\n__device__ __forceinline__ float value_of(Sum sum) { return sum; }\n";
  const int64_t largest = products_per_sum(problem) * 128 * (problem.source == Element::u8 ? 255 : 128);
  // 1.5 * 2^23 plus the sum, put together as bits.
  const std::string value = largest < short_sum ? "__int_as_float(sum + 0x4B400000) - 12582912.0f" : "(float)sum";
  return fmt::format("typedef int Sum;\n__device__ __forceinline__ float value_of(Sum sum) {{ return {}; }}\n", value);
}

std::string residual_text(const Epilogue& epilogue, bool as_stored) {
  std::string value = "stored";
  if (is_integer(epilogue.residual) && !as_stored)
    value = fmt::format("(stored - {}) * {}", literal(static_cast<float>(epilogue.residual_zero)), literal(epilogue.residual_scale));
  return fmt::format(R"(
__device__ __forceinline__ float residual_from(float stored) {{ return {}; }}
__device__ __forceinline__ float residual_of(const unsigned* words, int index) {{
  return residual_from(Residual::get(words[index / Residual::per_word], index % Residual::per_word));
}}
// N neighbours; a word holds what there is of it.
template <int N> __device__ __forceinline__ void get_residual(const void* from, unsigned* words) {{
  if (N * Residual::bytes >= 4) load_words<(N * Residual::bytes + 3) / 4>(from, words);
  else if (N * Residual::bytes == 2) words[0] = *(const unsigned short*)from;
  else words[0] = *(const unsigned char*)from;
}}
)",
                     value);
}

// Any steps, one after the other.
std::string plain_end_text(const Epilogue& epilogue) {
  std::string text = R"(
__device__ __forceinline__ float table_scale(float scale) { return scale; }
__device__ __forceinline__ float table_bias(float bias) { return bias; }
__device__ __forceinline__ float end_value(float sum, float scale, float bias, float residual) {
  float v = has_scale ? fmaf(sum, scale, bias) : sum + bias;
)";
  for (const EpilogueStep& step : epilogue.steps) text += fmt::format("  v = {};\n", step.expression());
  const std::string put = is_integer(epilogue.target) ? fmt::format("put_quantised<Target>(words, v, {}, {})",
                                                                    literal(epilogue.target_inverse), epilogue.target_zero)
                                                      : std::string("Target::put(words, v)");
  return text + "  return v;\n}\n" +
         fmt::format("template <int N> __device__ __forceinline__ void put_values(unsigned* words, const float (&v)[N]) {{ {}; }}\n", put) +
         R"(__device__ __forceinline__ float stored_number(float value) {
  const float one[1] = {value};
  unsigned word[1];
  put_values(word, one);
  return Target::get(word[0], 0);
}
)";
}

}  // namespace

const std::string& kernel_prelude() {
  static const std::string text = kernel_file("conversions") + kernel_file("launch_order") + kernel_file("element_types") +
                                  kernel_file("memory") + kernel_file("tensor_cores");
  return text;
}

bool Epilogue::has_residual() const {
  return std::any_of(steps.begin(), steps.end(), [](const EpilogueStep& step) {
    return step.kind == EpilogueStep::Kind::add || step.kind == EpilogueStep::Kind::multiply;
  });
}

std::string EpilogueStep::expression() const {
  const int lowest = integer == Element::i8 ? -128 : 0;
  switch (kind) {
    case Kind::add:
      return "v + residual";
    case Kind::multiply:
      return "v * residual";
    case Kind::clamp:
      if (std::isinf(high)) return fmt::format("largest(v, {})", literal(low));
      return fmt::format("smallest(largest(v, {}), {})", literal(low), literal(high));
    case Kind::round:
      return fmt::format("(fminf(fmaxf(rintf(v * {}) + {}.0f, {}.0f), {}.0f) - {}.0f) * {}", literal(1 / scale), zero, lowest, lowest + 255,
                         zero, literal(scale));
    case Kind::activation:
      break;
  }
  return text;
}

std::string kernel_macros(std::string_view head, std::string_view parameters, bool residual) {
  return fmt::format(
      "#define KERNEL() extern \"C\" __global__ void {}({}{})\n"
      "#define DECLARE_RESIDUAL {}\n",
      head, parameters, residual ? ", const unsigned char* residual" : "", residual ? "" : "const unsigned char* const residual = 0");
}

std::string head_text(const Convolution& problem, std::string_view entry, unsigned threads) {
  return kernel_macros(
      fmt::format("__launch_bounds__({}, 1) {}", threads, entry),
      "const unsigned char* source, const unsigned char* weights, const float* __restrict__ scale_bias, unsigned char* target",
      problem.epilogue.has_residual());
}

std::vector<Argument> arguments_of(const Convolution& problem) {
  std::vector<Argument> arguments{BufferArgument{role_source}, BufferArgument{role_weights}, BufferArgument{role_scale_bias},
                                  BufferArgument{role_target}};
  if (problem.epilogue.has_residual()) arguments.emplace_back(BufferArgument{role_residual});
  return arguments;
}

std::string_view type_text(Element element) {
  switch (element) {
    case Element::f32:
      return "F32";
    case Element::f16:
      return "F16";
    case Element::bf16:
      return "BF16";
    case Element::i8:
      return "I8";
    case Element::u8:
      return "U8";
    case Element::e4m3:
      return "E4M3";
    default:
      throw Error(ErrorKind::internal, "a convolution's operands are floats of 16 or 32 bits, or bytes");
  }
}

std::string constant_text(std::string_view name, int64_t value) {
  const bool wide = value > INT32_MAX || value < INT32_MIN;
  return fmt::format("static const {} {} = {}{};\n", wide ? "long long" : "int", name, value, wide ? "ll" : "");
}

std::string shape_text(const Convolution& problem) {
  const std::array<std::pair<std::string_view, int64_t>, 21> numbers{{{"in_h", problem.in_h},
                                                                      {"in_w", problem.in_w},
                                                                      {"in_channels", problem.in_channels},
                                                                      {"in_pitch", problem.in_pitch},
                                                                      {"out_h", problem.out_h},
                                                                      {"out_w", problem.out_w},
                                                                      {"out_channels", problem.out_channels},
                                                                      {"out_pitch", problem.out_pitch},
                                                                      {"kernel_h", problem.kernel_h},
                                                                      {"kernel_w", problem.kernel_w},
                                                                      {"stride_h", problem.stride_h},
                                                                      {"stride_w", problem.stride_w},
                                                                      {"pad_top", problem.pad_top},
                                                                      {"pad_left", problem.pad_left},
                                                                      {"dilation_h", problem.dilation_h},
                                                                      {"dilation_w", problem.dilation_w},
                                                                      {"groups", problem.groups},
                                                                      {"group_in", problem.in_channels / problem.groups},
                                                                      {"group_out", problem.out_channels / problem.groups},
                                                                      {"source_zero", problem.source_zero},
                                                                      {"batch", problem.batch}}};
  std::string text = fmt::format("static const long long pixels = {}ll;\n", problem.batch * problem.out_h * problem.out_w);
  for (const auto& [name, value] : numbers) text += constant_text(name, value);
  return text;
}

std::string literal(float value) {
  if (!std::isfinite(value)) return fmt::format("__uint_as_float({}u)", std::bit_cast<uint32_t>(value));
  return fmt::format("{:a}f", value);
}

std::string epilogue_text(const Convolution& problem) {
  const Epilogue& epilogue = problem.epilogue;
  std::string text = sum_text(problem);
  text += fmt::format("typedef {} Source;\ntypedef {} Target;\ntypedef {} Residual;\n", type_text(problem.source),
                      type_text(epilogue.target), type_text(epilogue.has_residual() ? epilogue.residual : epilogue.target));
  text += fmt::format("static const bool has_residual = {}, has_scale = {};\n", epilogue.has_residual(),
                      problem.compute == ComputeType::i8 || problem.compute == ComputeType::f8);
  const std::optional<IntegerEpilogue> integers = problem.compute == ComputeType::i8 ? integer_epilogue(epilogue) : std::nullopt;
  text += residual_text(epilogue, integers.has_value());
  text += integers ? integer_epilogue_text(epilogue, *integers) : plain_end_text(epilogue);
  return text + kernel_file("epilogue_end");
}

float rounded(ComputeType compute, float value) {
  switch (compute) {
    case ComputeType::f16:
      return to_float(to_half(value));
    case ComputeType::bf16:
      return to_float(to_bfloat16(value));
    case ComputeType::tf32:
      return std::isfinite(value) ? std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000u) & 0xffffe000u) : value;
    case ComputeType::f8:
      return from_e4m3(to_e4m3(value));
    default:
      return value;
  }
}

size_t operand_bytes(ComputeType compute) {
  switch (compute) {
    case ComputeType::f16:
    case ComputeType::bf16:
      return 2;
    case ComputeType::i8:
    case ComputeType::f8:
      return 1;
    default:
      return 4;
  }
}

void put_operand(std::vector<std::byte>& packed, size_t position, ComputeType compute, float value) {
  const size_t bytes = operand_bytes(compute);
  uint32_t bits = std::bit_cast<uint32_t>(rounded(compute, value));
  if (compute == ComputeType::f16) bits = to_half(value).bits;
  if (compute == ComputeType::bf16) bits = to_bfloat16(value).bits;
  if (compute == ComputeType::i8) bits = static_cast<uint8_t>(static_cast<int8_t>(value));
  if (compute == ComputeType::f8) bits = to_e4m3(value);
  std::memcpy(packed.data() + position * bytes, &bits, bytes);
}

WeightReader::WeightReader(const Convolution& problem, const Tensor& weights)
    : problem_(problem), weights_(weights), group_channels_(problem.in_channels / problem.groups) {
  const int64_t count = problem.out_channels * group_channels_ * problem.kernel_h * problem.kernel_w;
  const bool known = weights.type == DataType::f32 || weights.type == DataType::i8;
  if (!known || element_count(weights.shape) != count)
    throw Error(ErrorKind::internal, fmt::format("a convolution's weights have {} elements of {} where {} of float32 or int8 are needed",
                                                 element_count(weights.shape), name_of(weights.type), count));
}

float WeightReader::at(int64_t out, int64_t in, int64_t y, int64_t x) const {
  const auto index = static_cast<size_t>(((out * group_channels_ + in) * problem_.kernel_h + y) * problem_.kernel_w + x);
  if (weights_.type == DataType::i8) return weights_.as<int8_t>()[index];
  float value = 0;
  std::memcpy(&value, weights_.data.get() + index * sizeof(float), sizeof(float));
  return value;
}

bool can_overlap(const Chip& chip) { return chip.architecture >= 90; }

int64_t products_per_sum(const Convolution& problem) { return problem.in_channels / problem.groups * problem.kernel_h * problem.kernel_w; }

bool reads_outside(const Convolution& problem) {
  const int64_t last_y = (problem.out_h - 1) * problem.stride_h - problem.pad_top + (problem.kernel_h - 1) * problem.dilation_h;
  const int64_t last_x = (problem.out_w - 1) * problem.stride_w - problem.pad_left + (problem.kernel_w - 1) * problem.dilation_w;
  return problem.pad_top > 0 || problem.pad_left > 0 || last_y >= problem.in_h || last_x >= problem.in_w;
}

}  // namespace deepgap::gpu
