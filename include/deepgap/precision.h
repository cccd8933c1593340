// Precision: in which numbers a model is asked to be computed. It is text at the edges alone: command line, Study files, JSON, Stores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace deepgap {

// mixed: as the engine chooses between 32 and 16 bits. fp4: no engine here computes it, others publish what theirs do. In the order of
// their names, so that Points sort as they are read.
enum class Precision : uint8_t { bf16, fp16, fp32, fp4, fp8, int8, mixed, tf32 };

inline constexpr std::array all_precisions{Precision::bf16, Precision::fp16, Precision::fp32,  Precision::fp4,
                                           Precision::fp8,  Precision::int8, Precision::mixed, Precision::tf32};

constexpr std::string_view name_of(Precision precision) {
  constexpr std::string_view names[] = {"bf16", "fp16", "fp32", "fp4", "fp8", "int8", "mixed", "tf32"};
  return names[static_cast<size_t>(precision)];
}

// Returns nullopt if no precision has that name.
constexpr std::optional<Precision> precision_from(std::string_view name) {
  for (const Precision precision : all_precisions)
    if (name_of(precision) == name) return precision;
  return std::nullopt;
}

}  // namespace deepgap
