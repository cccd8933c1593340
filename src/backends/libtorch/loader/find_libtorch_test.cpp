#include "backends/libtorch/loader/find_libtorch.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

class FindLibtorch : public testing::Test {
 protected:
  FindLibtorch() {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "torch" / "lib");
  }
  ~FindLibtorch() override {
    ::unsetenv("DEEPGAP_LIBTORCH");
    fs::remove_all(folder_);
  }
  void write(const fs::path& path, const std::string& text) const { std::ofstream(folder_ / path) << text; }
  std::string found_from(const fs::path& named) const {
    ::setenv("DEEPGAP_LIBTORCH", (folder_ / named).c_str(), 1);
    return find_libtorch();
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("find_libtorch_" + std::to_string(::getpid()));
};

TEST_F(FindLibtorch, ThePackageItsFolderOrWhatHoldsItMayBeNamed) {
  write("torch/lib/libtorch_cpu.so", "");
  const std::string libraries = (folder_ / "torch" / "lib").string();
  for (const char* named : {"", "torch", "torch/lib"})
    EXPECT_EQ(fs::path(found_from(named)).lexically_normal(), fs::path(libraries)) << named;
}

TEST_F(FindLibtorch, AFolderWithoutItIsNamedInTheRefusal) {
  try {
    found_from("torch");
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_NE(std::string(error.what()).find((folder_ / "torch").string()), std::string::npos) << error.what();
  }
}

TEST_F(FindLibtorch, AFolderOfThatNameInTheWorkingDirectoryIsNotPythons) {
  write("torch/__init__.py", "");
  write("torch/lib/libtorch_cpu.so", "");
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const std::string said = torch_of_python();
  fs::current_path(before);
  EXPECT_EQ(said.find(folder_.string()), std::string::npos) << said;
}

TEST_F(FindLibtorch, TheVersionIsThePackagesOrTheArchives) {
  const std::string libraries = (folder_ / "torch" / "lib").string();
  EXPECT_EQ(libtorch_version(libraries), "");
  write("torch/build-version", "2.10.0+cpu\n");
  EXPECT_EQ(libtorch_version(libraries), "2.10.0+cpu");
  write("torch/version.py", "from typing import Optional\n__version__ = '2.11.0+cu130'\ndebug = False\n");
  EXPECT_EQ(libtorch_version(libraries), "2.11.0+cu130");
}

TEST(LibtorchVersion, OneMinorReleaseFits) {
  EXPECT_EQ(libtorch_version_defect("2.11.0+cu130", "2.11.0"), "");
  EXPECT_EQ(libtorch_version_defect("2.11.1", "2.11.0"), "");
  EXPECT_EQ(libtorch_version_defect("", "2.11.0"), "") << "its symbols decide";
  EXPECT_EQ(libtorch_version_defect("2.10.0+cpu", "2.11.0"), "it is version 2.10.0+cpu, this plug-in needs 2.11");
  EXPECT_EQ(libtorch_version_defect("2.1.0", "2.11.0"), "it is version 2.1.0, this plug-in needs 2.11");
}

}  // namespace
}  // namespace deepgap
