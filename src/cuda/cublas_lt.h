// cuBLASLt, NVIDIA's library for products of matrices, as functions that are looked up at run time (libcublasLt.so.13 or .12), as the
// driver's are (driver.h): an installed torch or a toolkit brings it, and a machine without gets a sentence. Types and numbers are its own,
// whose binary interface is stable since CUDA 11; cublas_lt_test.cpp holds them against its header where there is one.
#pragma once

#include "cuda/driver.h"
#include "cuda/stand_in.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace deepgap::cuda {

using LtResult = int;                          // cublasStatus_t; 0 is success
using LtHandle = struct LtHandleTag*;          // cublasLtHandle_t: the library on one device
using LtOperation = struct LtOperationTag*;    // cublasLtMatmulDesc_t
using LtLayout = struct LtLayoutTag*;          // cublasLtMatrixLayout_t
using LtPreference = struct LtPreferenceTag*;  // cublasLtMatmulPreference_t

inline constexpr LtResult lt_out_of_memory = 3, lt_invalid_value = 7, lt_execution_failed = 13, lt_not_supported = 15;

// cudaDataType
inline constexpr int lt_f32 = 0, lt_f16 = 2, lt_i8 = 3, lt_i32 = 10, lt_bf16 = 14, lt_e4m3 = 28;
// cublasComputeType_t: what sums are; tf32 multiplies float32 as TF32.
inline constexpr int lt_sums_f32 = 68, lt_sums_i32 = 72, lt_sums_tf32 = 77;
// cublasLtMatmulDescAttributes_t, and what they are set to
inline constexpr int lt_transpose_a = 3, lt_epilogue = 7, lt_bias_pointer = 8;
inline constexpr int32_t lt_transposed = 1;
inline constexpr uint32_t lt_epilogue_relu = 2, lt_epilogue_bias = 4;
// cublasLtMatmulPreferenceAttributes_t
inline constexpr int lt_most_workspace = 1, lt_reductions = 3, lt_alignment_a = 5, lt_alignment_b = 6, lt_alignment_c = 7,
                     lt_alignment_d = 8;
// Parts of a sum are added in the type of sums; the others do it in the result's.
inline constexpr uint32_t lt_reduction_in_sums = 2;

// cublasLtMatmulAlgo_t: a kernel and how it is launched, of this version of the library alone.
struct LtAlgorithm {
  uint64_t data[8];
};
// cublasLtMatmulHeuristicResult_t
struct LtFound {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  LtResult state;
  float waves;
  int reserved[4];
};

// result, name, parameters. Matrices are column-major; alpha and beta are of the type of sums, on the host.
#define DEEPGAP_CUBLAS_LT_FUNCTIONS(F)                                                                                              \
  F(size_t, cublasLtGetVersion, ())                                                                                                 \
  F(const char*, cublasLtGetStatusName, (LtResult result))                                                                          \
  F(LtResult, cublasLtCreate, (LtHandle * handle))                                                                                  \
  F(LtResult, cublasLtDestroy, (LtHandle handle))                                                                                   \
  F(LtResult, cublasLtMatmulDescCreate, (LtOperation * operation, int sums, int scale_type))                                        \
  F(LtResult, cublasLtMatmulDescDestroy, (LtOperation operation))                                                                   \
  F(LtResult, cublasLtMatmulDescSetAttribute, (LtOperation operation, int attribute, const void* value, size_t bytes))              \
  F(LtResult, cublasLtMatrixLayoutCreate, (LtLayout * layout, int type, uint64_t rows, uint64_t columns, int64_t pitch))            \
  F(LtResult, cublasLtMatrixLayoutDestroy, (LtLayout layout))                                                                       \
  F(LtResult, cublasLtMatmulPreferenceCreate, (LtPreference * preference))                                                          \
  F(LtResult, cublasLtMatmulPreferenceDestroy, (LtPreference preference))                                                           \
  F(LtResult, cublasLtMatmulPreferenceSetAttribute, (LtPreference preference, int attribute, const void* value, size_t bytes))      \
  F(LtResult, cublasLtMatmulAlgoGetHeuristic,                                                                                       \
    (LtHandle handle, LtOperation operation, LtLayout a, LtLayout b, LtLayout c, LtLayout d, LtPreference preference, int most,     \
     LtFound* found, int* count))                                                                                                   \
  F(LtResult, cublasLtMatmul,                                                                                                       \
    (LtHandle handle, LtOperation operation, const void* alpha, const void* a, LtLayout a_layout, const void* b, LtLayout b_layout, \
     const void* beta, const void* c, LtLayout c_layout, void* d, LtLayout d_layout, const LtAlgorithm* algorithm, void* workspace, \
     size_t workspace_bytes, StreamHandle stream))

struct CublasLt {
// NOLINTBEGIN(bugprone-macro-parentheses): a list of parameters has its own
#define DEEPGAP_CUBLAS_LT_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  DEEPGAP_CUBLAS_LT_FUNCTIONS(DEEPGAP_CUBLAS_LT_MEMBER)
#undef DEEPGAP_CUBLAS_LT_MEMBER
  // NOLINTEND(bugprone-macro-parentheses)
  std::string path;

  std::string version() const;  // "13.1.0"
};

// Opens the library once a process. Throws Error{refused} that lists where it looked. Does not call the driver.
const CublasLt& cublas_lt();

// Opens `library`; if empty, the one that engines and toolkits have, or that DEEPGAP_CUBLASLT names.
CublasLt open_cublas_lt(const std::string& library);

// Throws for a result other than success: Error{out_of_memory}, Error{device_lost} where the device is, else Error{internal}; `doing`
// completes "... while DOING".
void check_lt(LtResult result, const std::string& doing);

using CublasLtStandIn = StandIn<CublasLt>;  // for tests

}  // namespace deepgap::cuda
