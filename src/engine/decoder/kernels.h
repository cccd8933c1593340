// The decoder's inner loops, for each instruction set. Results of a row do not depend on which other rows are computed with it, so that a
// sequence's tokens are the same alone and in a batch.
#pragma once

#include "engine/decoder/packed_matrix.h"

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

// Rows of activations: as floats, and quantized in blocks of 32 where a matrix multiplies integers.
struct Activations {
  int64_t columns = 0;  // numbers in a row
  const float* floats = nullptr;
  const int8_t* integers = nullptr;
  const float* scales = nullptr;  // one for each block; a row has columns / 32
  const float* sums = nullptr;    // one for each block: its scale times the sum of its integers
};

// Keys and values of a sequence in a layer and a head, in FP16. Keys: of eight positions together, a number of each after the other.
// Values: position after position.
struct CachedHead {
  const uint16_t* keys = nullptr;
  const uint16_t* values = nullptr;
};

struct DecoderKernels {
  const char* name = nullptr;  // "AVX2"
  // Quantizes one row.
  void (*quantize)(const float* from, int64_t columns, int8_t* integers, float* scales, float* sums);
  // Computes to[row * stride + r] for `rows` rows of activations and the rows r of the matrix that are in the groups.
  void (*multiply)(const PackedMatrix& matrix, const Activations& x, int64_t rows, int64_t first_group, int64_t end_group, float* to,
                   int64_t stride);
  // Attends to `positions` positions with `heads` queries of head_size numbers, already multiplied by the scale, that share one head of
  // keys. `scores` has room for heads times positions rounded up to eight.
  void (*attend)(const float* queries, int64_t heads, int64_t head_size, const CachedHead& cached, int64_t positions, float* scores,
                 float* to);
  // Computes gate[i] = silu(gate[i]) * up[i].
  void (*gate)(float* gate, const float* up, int64_t count);
  void (*to_halves)(const float* from, int64_t count, uint16_t* to);
};

// Returns the kernels for the instructions that this process may use (engine/cpu/isa.h), after limit_isa().
const DecoderKernels& decoder_kernels();
// Returns all that this CPU can run, the plain ones first: for tests.
std::vector<const DecoderKernels*> all_decoder_kernels();

extern const DecoderKernels plain_decoder_kernels;
#if defined(__x86_64__)
extern const DecoderKernels avx2_decoder_kernels;
extern const DecoderKernels vnni_decoder_kernels;  // AVX-512 VNNI on 256 bits
#endif

}  // namespace deepgap
