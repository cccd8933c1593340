#include "engine/gpu/hopper_text.h"

#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

// "k32.s32.s8.s8"
std::string types_text(const Convolution& problem) {
  switch (problem.compute) {
    case ComputeType::i8:
      return problem.source == Element::u8 ? "k32.s32.u8.s8" : "k32.s32.s8.s8";
    case ComputeType::f16:
      return "k16.f32.f16.f16";
    case ComputeType::bf16:
      return "k16.f32.bf16.bf16";
    case ComputeType::f8:
      return "k32.f32.e4m3.e4m3";
    default:
      return "k8.f32.tf32.tf32";
  }
}

// The first factor in shared memory, or in registers; then the second may lie as [k][columns] ("turned"), of 16 bits.
enum class First { shared, registers, registers_by_turned };
std::string_view name_of(First first) {
  return first == First::shared ? "product" : first == First::registers ? "product_of_registers" : "product_with_turned";
}

std::string one_product(const Convolution& problem, int columns, First kind) {
  const bool from_registers = kind != First::shared;
  const int sums = columns / 2, first = sums + (from_registers ? 4 : 1);  // first: the operand number of b's rows
  std::string list, outputs;
  for (int i = 0; i < sums; i++) {
    list += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    outputs += fmt::format("{}\"+{}\"(d[{}])", i == 0 ? "" : ", ", problem.compute == ComputeType::i8 ? "r" : "f", i);
  }
  const bool half = problem.compute == ComputeType::f16 || problem.compute == ComputeType::bf16;
  const std::string signs = problem.compute == ComputeType::i8 ? ""
                            : half                             ? kind == First::registers_by_turned ? ", 1, 1, 1"
                                                                 : from_registers                   ? ", 1, 1, 0"
                                                                                                    : ", 1, 1, 0, 0"
                                                               : ", 1, 1";
  const std::string a =
      from_registers ? fmt::format("{{%{}, %{}, %{}, %{}}}", sums, sums + 1, sums + 2, sums + 3) : fmt::format("%{}", sums);
  return fmt::format(
      "__device__ __forceinline__ void {}(Sum (&d)[{}], {}, u64 b, int add) {{\n"
      "  asm volatile(\"{{ .reg .pred p;\\nsetp.ne.b32 p, %{}, 0;\\nwgmma.mma_async.sync.aligned.m64n{}{} {{{}}}, {}, %{}, p{}; }}\"\n"
      "    : {} : {}, \"l\"(b), \"r\"(add));\n}}\n",
      name_of(kind), sums, from_registers ? "const unsigned (&a)[4]" : "u64 a", first + 1, columns, types_text(problem), list, a, first,
      signs, outputs, from_registers ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])" : "\"l\"(a)");
}

}  // namespace

const std::string& hopper_prelude() { return kernel_file("hopper"); }

std::string product_text(const Convolution& problem, int columns) {
  return one_product(problem, columns, First::shared) + one_product(problem, columns, First::registers);
}

std::string turned_product_text(const Convolution& problem, int columns) {
  return one_product(problem, columns, First::registers_by_turned);
}

bool takes_columns(ComputeType compute, int columns) {
  if (columns < 8 || columns > 256) return false;
  return columns % (compute == ComputeType::i8 && columns > 32 ? 16 : 8) == 0;
}

int products_of(ComputeType compute, int columns, int registers) {
  constexpr int besides = 32;  // addresses and the like
  int products = 1;
  while (columns / products / 2 + besides > registers && columns % (2 * products) == 0 && takes_columns(compute, columns / products / 2))
    products *= 2;
  return products;
}

size_t permuted(size_t offset, int row_bytes) {
  const size_t mask = row_bytes == 128 ? 7 : row_bytes == 64 ? 3 : 1;
  return offset ^ ((offset >> 7 & mask) << 4);
}

}  // namespace deepgap::gpu
