#include "cuda/driver.h"

#include <deepgap/error.h>

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

}  // namespace
}  // namespace deepgap::cuda
