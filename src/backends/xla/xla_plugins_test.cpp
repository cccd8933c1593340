#include "backends/xla/xla_plugins.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

class FindXlaPlugins : public testing::Test {
 protected:
  FindXlaPlugins() {
    if (const char* named = ::getenv("DEEPGAP_XLA")) before_ = named;
    fs::create_directories(folder_ / "jax_plugins/xla_cuda13");
  }
  ~FindXlaPlugins() override {
    before_.empty() ? ::unsetenv("DEEPGAP_XLA") : ::setenv("DEEPGAP_XLA", before_.c_str(), 1);
    fs::remove_all(folder_);
  }
  std::string write(const fs::path& path) const {
    std::ofstream(folder_ / path) << "a library";
    return (folder_ / path).string();
  }
  static XlaPlugins found_from(const std::string& named) {
    ::setenv("DEEPGAP_XLA", named.c_str(), 1);
    return find_xla_plugins();
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("find_xla_" + std::to_string(::getpid()));
  std::string before_;
};

TEST_F(FindXlaPlugins, FilesAndFoldersOfPackagesMayBeNamed) {
  const std::string cuda = write("jax_plugins/xla_cuda13/xla_cuda_plugin.so"), cpu = write("pjrt_of_ours.so");
  const XlaPlugins both = found_from(folder_.string() + ":" + cpu);
  EXPECT_EQ(both.cuda, cuda);
  EXPECT_EQ(both.cpu, cpu);
  const XlaPlugins one = found_from((folder_ / "jax_plugins").string());
  EXPECT_EQ(one.cuda, cuda);
  EXPECT_EQ(one.cpu, "");
  EXPECT_THAT(missing_xla_plugin(one, "cpu"), testing::HasSubstr("no plug-in of XLA for CPUs in " + (folder_ / "jax_plugins").string()));
}

TEST_F(FindXlaPlugins, ThePackageIsNamedWithItsVersion) {
  const std::string cuda = write("jax_plugins/xla_cuda13/xla_cuda_plugin.so"), other = write("pjrt_of_ours.so");
  fs::create_directories(folder_ / "xla_cpu_pjrt-0.0.1.dist-info");
  fs::create_directories(folder_ / "jax_cuda13_pjrt-0.11.2.dist-info");
  EXPECT_EQ(xla_package_of(cuda), "jax_cuda13_pjrt 0.11.2");
  EXPECT_EQ(xla_package_of(other), "pjrt_of_ours.so");
}

TEST_F(FindXlaPlugins, APlaceWithoutOneIsNamedInTheRefusal) {
  try {
    found_from(folder_.string());
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_THAT(error.what(), testing::HasSubstr(folder_.string() + " neither is a plug-in of XLA nor holds"));
  }
}

}  // namespace
}  // namespace deepgap
