// Our declarations against cuBLASLt's own header and, where it loads, against the library itself, which describes products without a GPU.
#include "cuda/cublas_lt.h"

#include "base/test_error.h"
#include "cuda/fake_cublas_lt.h"
#include "cuda/fake_driver.h"
#include "cuda/lt_product.h"

#include <gmock/gmock.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define DEEPGAP_HAS_CUBLAS_LT 1
#endif

#include <cstdlib>

namespace deepgap::cuda {
namespace {

using ::testing::HasSubstr;

#ifdef DEEPGAP_HAS_CUBLAS_LT
static_assert(lt_out_of_memory == CUBLAS_STATUS_ALLOC_FAILED && lt_invalid_value == CUBLAS_STATUS_INVALID_VALUE);
static_assert(lt_execution_failed == CUBLAS_STATUS_EXECUTION_FAILED && lt_not_supported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(lt_f32 == CUDA_R_32F && lt_f16 == CUDA_R_16F && lt_bf16 == CUDA_R_16BF);
static_assert(lt_i8 == CUDA_R_8I && lt_i32 == CUDA_R_32I && lt_e4m3 == CUDA_R_8F_E4M3);
static_assert(lt_sums_f32 == CUBLAS_COMPUTE_32F && lt_sums_i32 == CUBLAS_COMPUTE_32I && lt_sums_tf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(lt_transpose_a == CUBLASLT_MATMUL_DESC_TRANSA && lt_transposed == CUBLAS_OP_T);
static_assert(lt_epilogue == CUBLASLT_MATMUL_DESC_EPILOGUE && lt_bias_pointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(lt_epilogue_relu == CUBLASLT_EPILOGUE_RELU && lt_epilogue_bias == CUBLASLT_EPILOGUE_BIAS);
static_assert((lt_epilogue_relu | lt_epilogue_bias) == CUBLASLT_EPILOGUE_RELU_BIAS && CUBLASLT_EPILOGUE_DEFAULT == 1);
static_assert(lt_most_workspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && lt_reductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(lt_alignment_a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES && lt_alignment_b == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(lt_alignment_c == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES && lt_alignment_d == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(lt_reduction_in_sums == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t) && sizeof(LtFound) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtFound, workspace_bytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtFound, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

// Handles are pointers, enumerations and results are ints: calls look the same.
template <typename Theirs, typename Ours>
constexpr bool same_size = sizeof(Theirs) == sizeof(Ours);
static_assert(same_size<cublasLtHandle_t, LtHandle> && same_size<cublasLtMatmulDesc_t, LtOperation> && same_size<cublasStatus_t, LtResult>);
static_assert(same_size<cublasLtMatrixLayout_t, LtLayout> && same_size<cublasLtMatmulPreference_t, LtPreference>);
static_assert(same_size<cublasComputeType_t, int> && same_size<cudaDataType_t, int> && same_size<cublasLtMatmulDescAttributes_t, int>);
#endif

std::string opening_error(const std::string& library) {
  return error_of([&] { open_cublas_lt(library); }, ErrorKind::refused);
}

TEST(CublasLt, OneThatIsNotThereIsRefusedByName) {
  EXPECT_THAT(opening_error("/nowhere/libcublasLt.so.13"), HasSubstr("there is no cuBLASLt: /nowhere/libcublasLt.so.13"));
  ::setenv("DEEPGAP_CUBLASLT", "/nothing/libcublasLt.so.13", 1);
  const std::string named = opening_error("");
  ::unsetenv("DEEPGAP_CUBLASLT");
  EXPECT_THAT(named, HasSubstr("cuBLASLt, given by DEEPGAP_CUBLASLT, does not load: /nothing/libcublasLt.so.13"));
}

// libm is a library, and multiplies no matrices.
TEST(CublasLt, ALibraryWithoutItsFunctionsIsRefused) {
  EXPECT_EQ(opening_error("libm.so.6"), "libm.so.6 is not a usable cuBLASLt: it has no cublasLtGetVersion");
}

TEST(CublasLt, ResultsAreErrorsOfTheKindThatTheyAre) {
  FakeDriver gpu;
  const DriverStandIn driver(gpu.table());
  FakeCublasLt fake;
  const CublasLtStandIn library(fake.table());
  const auto error = [](LtResult result, ErrorKind kind) { return error_of([&] { check_lt(result, "testing"); }, kind); };
  EXPECT_EQ(error(0, ErrorKind::internal), "no error");
  EXPECT_EQ(error(lt_not_supported, ErrorKind::internal), "cuBLASLt says CUBLAS_STATUS_NOT_SUPPORTED while testing");
  EXPECT_EQ(error(lt_out_of_memory, ErrorKind::out_of_memory), "out of memory: cuBLASLt says CUBLAS_STATUS_SCRIPTED while testing");
  gpu.lose("cuCtxSynchronize");
  EXPECT_EQ(error(lt_execution_failed, ErrorKind::device_lost), "device lost: CUDA_ERROR_ILLEGAL_ADDRESS: as a test has it while testing");
  gpu.mend();
  gpu.fail("cuCtxSynchronize", 900);  // a stream is being recorded
  EXPECT_EQ(error(lt_execution_failed, ErrorKind::internal), "cuBLASLt says CUBLAS_STATUS_SCRIPTED while testing");
}

TEST(CublasLt, GivesBackWhatItTook) {
  FakeCublasLt fake;
  const CublasLtStandIn library(fake.table());
  {
    const LtProduct product(std::make_shared<const LtLibrary>(), {.rows = 4, .columns = 8, .depth = 16}, 0);
    EXPECT_EQ(product.algorithms(2, size_t{1} << 20).size(), 2u);
    EXPECT_EQ(product.algorithms(8, 0).size(), 1u) << "the others want workspace";
    fake.offers = lt_not_supported;
    EXPECT_TRUE(product.algorithms(2, 0).empty());
  }
  EXPECT_EQ(fake.opened.load(), 1);
  EXPECT_EQ(fake.closed.load(), 1);
}

// The library that is installed accepts our descriptions. It can start only on a machine with a device.
TEST(CublasLt, TheLibraryItselfTakesOurDescriptions) {
  CublasLt real;
  try {
    real = open_cublas_lt("");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const CublasLtStandIn library(real);
  EXPECT_THAT(cublas_lt().version(), ::testing::MatchesRegex("1[2-9]\\.[0-9]+\\.[0-9]+"));
  EXPECT_STREQ(cublas_lt().cublasLtGetStatusName(lt_not_supported), "CUBLAS_STATUS_NOT_SUPPORTED");
  for (const LtProblem& problem : {LtProblem{.has_addend = true, .has_bias = true, .has_relu = true},
                                   LtProblem{.sums = lt_sums_i32, .operands = lt_i8, .result = lt_i32},
                                   LtProblem{.sums = lt_sums_tf32, .operands = lt_f32, .result = lt_f32, .has_bias = true},
                                   LtProblem{.operands = lt_e4m3, .result = lt_f32}, LtProblem{.operands = lt_bf16, .result = lt_bf16}})
    EXPECT_NO_THROW(LtProduct(nullptr, problem, 256)) << problem.operands;
}

}  // namespace
}  // namespace deepgap::cuda
