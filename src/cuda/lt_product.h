// A product of matrices as cuBLASLt computes it (cublas_lt.h): result[row][column] = the sum over k of source[row][k] * weights[column][k],
// then an addend, a bias for each column and a ReLU, as far as they are asked for. All lie row-major without gaps.
//
// Threads: LtProduct::run from any, the context current; made and asked by one.
#pragma once

#include "cuda/cublas_lt.h"
#include "cuda/objects.h"

#include <memory>
#include <vector>

namespace deepgap::cuda {

inline LtResult destroy_lt_handle(LtHandle handle) { return cublas_lt().cublasLtDestroy(handle); }
inline LtResult destroy_lt_operation(LtOperation operation) { return cublas_lt().cublasLtMatmulDescDestroy(operation); }
inline LtResult destroy_lt_layout(LtLayout layout) { return cublas_lt().cublasLtMatrixLayoutDestroy(layout); }
inline LtResult destroy_lt_preference(LtPreference preference) { return cublas_lt().cublasLtMatmulPreferenceDestroy(preference); }

// The library on the current context's device, as long as this lives; the context outlives it.
class LtLibrary {
 public:
  // Throws Error{refused} where there is none, and check_lt's errors where it does not start on this device.
  LtLibrary();
  LtHandle get() const { return handle_.get(); }

 private:
  Owned<LtHandle, destroy_lt_handle> handle_;
};

struct LtProblem {
  int sums = lt_sums_f32;                  // lt_sums_*
  int operands = lt_f16, result = lt_f16;  // operands: source and weights; result: result and addend
  uint64_t rows = 1, columns = 1, depth = 1;
  bool has_addend = false;
  bool has_bias = false, has_relu = false;  // the bias is of the result's type
};

class LtProduct {
 public:
  // `bias`: where it lies; 0 where the product is not run.
  LtProduct(std::shared_ptr<const LtLibrary> library, const LtProblem& problem, Address bias);

  // Returns at most `most` algorithms, fastest first by the library's guess; none if it does not do the problem. They add up partial sums
  // in the type of sums and want buffers that begin at multiples of lt_alignment bytes.
  std::vector<LtFound> algorithms(int most, size_t most_workspace) const;

  struct Places {
    Address source = 0, weights = 0, addend = 0, result = 0, workspace = 0;
  };
  // Queues it. Throws check_lt's errors.
  void run(const Places& places, const LtFound& found, StreamHandle stream) const;

 private:
  std::shared_ptr<const LtLibrary> library_;
  LtProblem problem_;
  Owned<LtOperation, destroy_lt_operation> operation_;
  Owned<LtLayout, destroy_lt_layout> weights_, source_, result_;
};

inline constexpr uint32_t lt_alignment = 16;

}  // namespace deepgap::cuda
