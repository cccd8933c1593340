#include "cuda/driver.h"

#include "base/test_error.h"
#include "cuda/fake_driver.h"

#include <gtest/gtest.h>

namespace deepgap::cuda {
namespace {

TEST(Driver, ALibraryThatIsNotThereIsRefusedByName) {
  try {
    open_driver("/nowhere/libcuda.so.1");
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_NE(std::string(error.what()).find("/nowhere/libcuda.so.1"), std::string::npos) << error.what();
  }
}

// libm is a library, and no driver.
TEST(Driver, ALibraryWithoutItsFunctionsIsRefused) {
  try {
    open_driver("libm.so.6");
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_NE(std::string(error.what()).find("too old"), std::string::npos) << error.what();
  }
}

std::string start_error(FakeDriver& fake) {
  return error_of([&] { start(fake.table()); }, ErrorKind::refused);
}

TEST(Driver, WithoutAGpuItIsRefused) {
  FakeDriver fake;
  fake.fail("cuInit", FakeDriver::no_device);
  EXPECT_EQ(start_error(fake), "the NVIDIA driver finds no GPU");
}

TEST(Driver, ThatDoesNotStartIsRefusedByItsOwnWord) {
  FakeDriver fake;
  fake.fail("cuInit", 999);
  EXPECT_EQ(start_error(fake), "the NVIDIA driver does not start: CUDA_ERROR_UNKNOWN");
}

TEST(Driver, AnOlderOneThanTwelveIsRefused) {
  FakeDriver fake;
  fake.version = 11080;
  EXPECT_EQ(start_error(fake), "the NVIDIA driver is too old: it is for CUDA 11.8, and 12.0 is needed");
  fake.version = 12000;
  EXPECT_EQ(start_error(fake), "no error");
}

TEST(Driver, ResultsAreErrorsOfTheKindThatTheyAre) {
  FakeDriver fake;
  const DriverStandIn driver(fake.table());
  const auto error = [](Result result, ErrorKind kind) { return error_of([&] { check(result, "testing"); }, kind); };
  EXPECT_EQ(error(0, ErrorKind::internal), "no error");
  EXPECT_EQ(error(2, ErrorKind::out_of_memory), "out of memory: CUDA_ERROR_OUT_OF_MEMORY: as a test has it while testing");
  EXPECT_EQ(error(700, ErrorKind::device_lost), "device lost: CUDA_ERROR_ILLEGAL_ADDRESS: as a test has it while testing");
  EXPECT_EQ(error(1, ErrorKind::internal), "CUDA_ERROR_SCRIPTED: as a test has it while testing");
}

}  // namespace
}  // namespace deepgap::cuda
