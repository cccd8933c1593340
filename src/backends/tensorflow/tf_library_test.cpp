#include "backends/tensorflow/tf_library.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

class FindTensorflow : public testing::Test {
 protected:
  FindTensorflow() {
    if (const char* named = ::getenv("DEEPGAP_TENSORFLOW")) before_ = named;
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "tensorflow");
    fs::create_directories(folder_ / "lib");
  }
  ~FindTensorflow() override {
    before_.empty() ? ::unsetenv("DEEPGAP_TENSORFLOW") : ::setenv("DEEPGAP_TENSORFLOW", before_.c_str(), 1);
    fs::remove_all(folder_);
  }
  void write(const fs::path& path) const { std::ofstream(folder_ / path) << "a library"; }
  std::string found_from(const fs::path& named) const {
    ::setenv("DEEPGAP_TENSORFLOW", (folder_ / named).c_str(), 1);
    return find_tensorflow();
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("find_tensorflow_" + std::to_string(::getpid()));
  std::string before_;
};

TEST_F(FindTensorflow, ThePackageWhatHoldsItOrTheFileMayBeNamed) {
  write("tensorflow/libtensorflow_cc.so.2");
  const std::string library = (folder_ / "tensorflow/libtensorflow_cc.so.2").string();
  for (const char* named : {"tensorflow", "", "tensorflow/libtensorflow_cc.so.2"}) EXPECT_EQ(found_from(named), library) << named;
}

TEST_F(FindTensorflow, AnUnpackedCLibraryMayBeNamed) {
  write("lib/libtensorflow.so.2");
  EXPECT_EQ(found_from(""), (folder_ / "lib/libtensorflow.so.2").string());
}

TEST_F(FindTensorflow, AFolderWithoutItIsNamedInTheRefusal) {
  try {
    found_from("tensorflow");
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_NE(std::string(error.what()).find("DEEPGAP_TENSORFLOW=" + (folder_ / "tensorflow").string()), std::string::npos) << error.what();
  }
}

TEST(TensorflowVersion, ThisOrALaterOneOfTheMajorVersionFits) {
  for (const char* version : {"2.21.0", "2.22.1", "2.30.0-dev"}) EXPECT_EQ(tf_version_defect(version), "") << version;
  EXPECT_EQ(tf_version_defect("2.20.0"), "it is version 2.20.0, expected 2.21 or a later 2.x");
  EXPECT_EQ(tf_version_defect("1.15.5"), "it is version 1.15.5, expected 2.21 or a later 2.x");
  EXPECT_EQ(tf_version_defect("3.0.0"), "it is version 3.0.0, expected 2.21 or a later 2.x");
  EXPECT_EQ(tf_version_defect("unknown"), "it is version 'unknown', expected 2.21 or a later 2.x");
}

TEST(TensorflowCpu, MissingInstructionsAreNamed) {
  EXPECT_EQ(tf_cpu_defect([](const std::string&) { return true; }), "");
  EXPECT_EQ(tf_cpu_defect([](const std::string& feature) { return feature != "avx"; }),
            "TensorFlow's code needs avx, which this CPU does not have");
  EXPECT_EQ(tf_cpu_defect([](const std::string& feature) { return feature == "sse4.1"; }),
            "TensorFlow's code needs sse4.2, avx, which this CPU does not have");
}

}  // namespace
}  // namespace deepgap
