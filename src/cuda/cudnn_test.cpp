// Our declarations against cuDNN's own header and, where it loads, against the library itself, which describes convolutions without a GPU.
#include "cuda/cudnn.h"

#include "base/test_error.h"
#include "cuda/dnn_convolution.h"
#include "cuda/fake_cudnn.h"
#include "cuda/fake_driver.h"

#include <gmock/gmock.h>

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#define DEEPGAP_HAS_CUDNN 1
#endif

#include <array>
#include <cstdlib>

namespace deepgap::cuda {
namespace {

using ::testing::HasSubstr;

#ifdef DEEPGAP_HAS_CUDNN
static_assert(dnn_bad_parameter == CUDNN_STATUS_BAD_PARAM && dnn_not_supported == CUDNN_STATUS_NOT_SUPPORTED);
static_assert(dnn_out_of_memory == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
static_assert(dnn_execution_failed == CUDNN_STATUS_EXECUTION_FAILED);
static_assert(dnn_f32 == CUDNN_DATA_FLOAT && dnn_f16 == CUDNN_DATA_HALF && dnn_bf16 == CUDNN_DATA_BFLOAT16);
static_assert(dnn_channels_last == CUDNN_TENSOR_NHWC && dnn_cross_correlation == CUDNN_CROSS_CORRELATION);
static_assert(dnn_default_math == CUDNN_DEFAULT_MATH && dnn_tensor_cores == CUDNN_TENSOR_OP_MATH && dnn_true_f32 == CUDNN_FMA_MATH);
static_assert(dnn_relu == CUDNN_ACTIVATION_RELU && dnn_identity == CUDNN_ACTIVATION_IDENTITY && dnn_keep_nan == CUDNN_PROPAGATE_NAN);
static_assert(dnn_implicit_gemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM && dnn_gemm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM);
static_assert(dnn_implicit_precomp_gemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
static_assert(dnn_direct == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT && dnn_algorithms == CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
static_assert(dnn_deterministic == CUDNN_DETERMINISTIC);
static_assert(sizeof(DnnFound) == sizeof(cudnnConvolutionFwdAlgoPerf_t));
static_assert(offsetof(DnnFound, state) == offsetof(cudnnConvolutionFwdAlgoPerf_t, status));
static_assert(offsetof(DnnFound, workspace_bytes) == offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
static_assert(offsetof(DnnFound, determinism) == offsetof(cudnnConvolutionFwdAlgoPerf_t, determinism));
#endif

std::string opening_error(const std::string& library) {
  return error_of([&] { open_cudnn(library); }, ErrorKind::refused);
}

TEST(Cudnn, OneThatIsNotThereIsRefusedByName) {
  EXPECT_THAT(opening_error("/nowhere/libcudnn.so.9"), HasSubstr("there is no cuDNN: /nowhere/libcudnn.so.9"));
  ::setenv("DEEPGAP_CUDNN", "/nothing/libcudnn.so.9", 1);
  const std::string named = opening_error("");
  ::unsetenv("DEEPGAP_CUDNN");
  EXPECT_THAT(named, HasSubstr("cuDNN, given by DEEPGAP_CUDNN, does not load: /nothing/libcudnn.so.9"));
}

// libm is a library, and computes no networks.
TEST(Cudnn, ALibraryWithoutItsFunctionsIsRefused) {
  EXPECT_EQ(opening_error("libm.so.6"), "libm.so.6 is not a usable cuDNN: it has no cudnnGetVersion");
}

TEST(Cudnn, ResultsAreErrorsOfTheKindThatTheyAre) {
  FakeDriver gpu;
  const DriverStandIn driver(gpu.table());
  FakeCudnn fake;
  const CudnnStandIn library(fake.table());
  const auto error = [](DnnResult result, ErrorKind kind) { return error_of([&] { check_dnn(result, "testing"); }, kind); };
  EXPECT_EQ(error(0, ErrorKind::internal), "no error");
  EXPECT_EQ(error(dnn_not_supported, ErrorKind::internal), "cuDNN says CUDNN_STATUS_SCRIPTED while testing");
  EXPECT_THAT(error(dnn_out_of_memory, ErrorKind::out_of_memory), HasSubstr("out of memory: cuDNN says CUDNN_STATUS_INTERNAL_ERROR"));
  gpu.lose("cuCtxSynchronize");
  EXPECT_EQ(error(dnn_execution_failed, ErrorKind::device_lost), "device lost: CUDA_ERROR_ILLEGAL_ADDRESS: as a test has it while testing");
}

TEST(Cudnn, VersionsOfBothWaysToCount) {
  FakeCudnn fake;
  Cudnn table = fake.table();
  EXPECT_EQ(table.version(), "9.19.0");
  fake.version_number = 8907;
  EXPECT_EQ(table.version(), "8.9.7");
}

// The library that is installed accepts our descriptions and finds the sizes that we do. It can start only on a machine with a device.
TEST(Cudnn, TheLibraryItselfTakesOurDescriptions) {
  Cudnn real;
  try {
    real = open_cudnn("");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const CudnnStandIn library(real);
  EXPECT_THAT(cudnn().version(), ::testing::MatchesRegex("[89]\\.[0-9]+\\.[0-9]+"));
  EXPECT_STREQ(cudnn().cudnnGetErrorString(dnn_not_supported), "CUDNN_STATUS_NOT_SUPPORTED");
  const DnnProblem whole{.batch = 2,
                         .in_h = 9,
                         .in_w = 7,
                         .channels = 16,
                         .out_h = 5,
                         .out_w = 4,
                         .columns = 32,
                         .kernel_h = 3,
                         .kernel_w = 3,
                         .stride_h = 2,
                         .stride_w = 2,
                         .pad_h = 1,
                         .pad_w = 1,
                         .groups = 2,
                         .is_whole = true,
                         .has_relu = true};
  DnnProblem dilated = whole;
  dilated.operands = dilated.result = dnn_f32;
  dilated.true_f32 = true, dilated.is_whole = false;
  dilated.dilation_h = dilated.dilation_w = 2, dilated.out_h = 4, dilated.out_w = 3;
  DnnProblem bfloat = whole;
  bfloat.operands = bfloat.result = dnn_bf16;
  DnnProblem lopsided = whole;
  lopsided.out_h = 6;
  for (const DnnProblem& problem : {whole, dilated, bfloat}) EXPECT_TRUE(DnnConvolution(nullptr, problem).makes_the_size());
  EXPECT_FALSE(DnnConvolution(nullptr, lopsided).makes_the_size());
}

}  // namespace
}  // namespace deepgap::cuda
