#include "backends/libtorch/torch_failure.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <new>

namespace deepgap {
namespace {

Error told(const std::string& message) { return torch_error(std::runtime_error(message), "running the model"); }

TEST(TorchFailure, MemoryIsToldFirst) {
  const Error error = told("CUDA out of memory. Tried to allocate 2.00 GiB.\nSearch for `x' in y");
  EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
  EXPECT_STREQ(error.what(), "out of memory: libtorch running the model: CUDA out of memory. Tried to allocate 2.00 GiB.");
  EXPECT_EQ(told("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes").kind(),
            ErrorKind::out_of_memory);
  EXPECT_EQ(torch_error(std::bad_alloc(), "loading").kind(), ErrorKind::out_of_memory);
}

// The words of cudaGetErrorString.
TEST(TorchFailure, AContextThatIsGoneIsALostDevice) {
  for (const char* words : {"an illegal memory access was encountered", "unspecified launch failure", "device-side assert triggered",
                            "misaligned address", "an illegal instruction was encountered", "uncorrectable ECC error encountered",
                            "hardware stack error", "the launch timed out and was terminated"}) {
    EXPECT_EQ(told(std::string("CUDA error: ") + words).kind(), ErrorKind::device_lost) << words;
  }
  EXPECT_EQ(told("CUDA error: invalid argument").kind(), ErrorKind::refused);
}

TEST(TorchFailure, IsOneLineWithoutTheBacktrace) {
  try {
    TORCH_CHECK(false, "sizes\ndo not match");
  } catch (const std::exception& failure) {
    EXPECT_STREQ(torch_error(failure, "loading the model").what(), "libtorch loading the model: sizes do not match");
  }
}

TEST(TorchFailure, OfWorkIsThrownInOurWords) {
  EXPECT_EQ(with_torch_errors("running the model", [] { return 7; }), 7);
  try {
    with_torch_errors("running the model", [] { TORCH_CHECK(false, "ZeroDivisionError"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_STREQ(error.what(), "libtorch running the model: ZeroDivisionError");
  }
}

TEST(TorchFailure, OurOwnErrorStaysItself) {
  const Error error = torch_error(Error(ErrorKind::usage, "so"), "loading the model");
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_STREQ(error.what(), "so");
}

}  // namespace
}  // namespace deepgap
