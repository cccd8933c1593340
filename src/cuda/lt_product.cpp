#include "cuda/lt_product.h"

namespace deepgap::cuda {
namespace {

template <typename T>
void set(LtOperation operation, int attribute, const T& value) {
  check_lt(cublas_lt().cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)), "a product is described");
}

template <typename T>
void set(LtPreference preference, int attribute, const T& value) {
  check_lt(cublas_lt().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)), "algorithms are asked for");
}

LtLayout layout(int type, uint64_t rows, uint64_t columns) {
  LtLayout made = nullptr;
  check_lt(cublas_lt().cublasLtMatrixLayoutCreate(&made, type, rows, columns, static_cast<int64_t>(rows)), "a matrix is described");
  return made;
}

uint32_t epilogue_of(const LtProblem& problem) {
  constexpr uint32_t none = 1;
  const uint32_t both = (problem.has_bias ? lt_epilogue_bias : 0) | (problem.has_relu ? lt_epilogue_relu : 0);
  return both == 0 ? none : both;
}

void* at(Address address) { return reinterpret_cast<void*>(address); }

// 1 and 0 in the type that results are scaled in.
struct Factor {
  explicit Factor(bool one) : number(one ? 1 : 0), integer(one ? 1 : 0) {}
  const void* of(int sums) const { return sums == lt_sums_i32 ? static_cast<const void*>(&integer) : &number; }
  float number;
  int32_t integer;
};

}  // namespace

LtLibrary::LtLibrary() {
  LtHandle made = nullptr;
  check_lt(cublas_lt().cublasLtCreate(&made), "it starts");
  handle_ = Owned<LtHandle, destroy_lt_handle>(made);
}

// Row-major matrices are the transposed ones of column-major order: result^T = weights * source^T.
LtProduct::LtProduct(std::shared_ptr<const LtLibrary> library, const LtProblem& problem, Address bias)
    : library_(std::move(library)), problem_(problem) {
  LtOperation made = nullptr;
  const int scale_type = problem.sums == lt_sums_i32 ? lt_i32 : lt_f32;
  check_lt(cublas_lt().cublasLtMatmulDescCreate(&made, problem.sums, scale_type), "a product is described");
  operation_ = Owned<LtOperation, destroy_lt_operation>(made);
  set(made, lt_transpose_a, lt_transposed);
  set(made, lt_epilogue, epilogue_of(problem));
  if (problem.has_bias) set(made, lt_bias_pointer, at(bias == 0 ? lt_alignment : bias));  // the library looks at the pointer's alignment
  weights_ = Owned<LtLayout, destroy_lt_layout>(layout(problem.operands, problem.depth, problem.columns));
  source_ = Owned<LtLayout, destroy_lt_layout>(layout(problem.operands, problem.depth, problem.rows));
  result_ = Owned<LtLayout, destroy_lt_layout>(layout(problem.result, problem.columns, problem.rows));
}

std::vector<LtFound> LtProduct::algorithms(int most, size_t most_workspace) const {
  LtPreference made = nullptr;
  check_lt(cublas_lt().cublasLtMatmulPreferenceCreate(&made), "algorithms are asked for");
  const Owned<LtPreference, destroy_lt_preference> preference(made);
  set(made, lt_most_workspace, most_workspace);
  set(made, lt_reductions, lt_reduction_in_sums);
  for (const int attribute : {lt_alignment_a, lt_alignment_b, lt_alignment_c, lt_alignment_d}) set(made, attribute, lt_alignment);
  std::vector<LtFound> found(static_cast<size_t>(most));
  int count = 0;
  const LtResult result = cublas_lt().cublasLtMatmulAlgoGetHeuristic(library_->get(), operation_.get(), weights_.get(), source_.get(),
                                                                     result_.get(), result_.get(), made, most, found.data(), &count);
  found.resize(result == 0 ? static_cast<size_t>(count) : 0);
  std::erase_if(found, [](const LtFound& one) { return one.state != 0; });
  return found;
}

void LtProduct::run(const Places& places, const LtFound& found, StreamHandle stream) const {
  const Factor alpha(true), beta(problem_.has_addend);
  const Address addend = problem_.has_addend ? places.addend : places.result;
  check_lt(
      cublas_lt().cublasLtMatmul(library_->get(), operation_.get(), alpha.of(problem_.sums), at(places.weights), weights_.get(),
                                 at(places.source), source_.get(), beta.of(problem_.sums), at(addend), result_.get(), at(places.result),
                                 result_.get(), &found.algorithm, at(places.workspace), found.workspace_bytes, stream),
      "a product is launched");
}

}  // namespace deepgap::cuda
