#include "worker/plugin.h"

#include "base/temporary_folder.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// A folder of plug-ins that is the one searched for as long as this lives.
class PluginFolder {
 public:
  PluginFolder() { ::setenv("DEEPGAP_PLUGINS", folder_.path().c_str(), 1); }
  ~PluginFolder() { ::unsetenv("DEEPGAP_PLUGINS"); }
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;
  void write(const std::string& file, const std::string& content) const { std::ofstream(path() / file) << content; }
  fs::path path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

std::string refusal(const std::function<void()>& work, ErrorKind kind = ErrorKind::refused) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "nothing was thrown";
}

Backend* make_nothing() { return nullptr; }

TEST(Plugin, NamesAreThoseOfTheFilesSorted) {
  const PluginFolder folder;
  folder.write("deepgap_zeta.so", "");
  folder.write("deepgap_alpha.so", "");
  folder.write("libother.so", "");
  folder.write("deepgap_old.so.1", "");
  EXPECT_EQ(plugin_dir(), folder.path().string());
  EXPECT_THAT(plugin_names(), ElementsAre("alpha", "zeta"));
}

TEST(Plugin, FolderStandsBesideTheProgramByDefault) {
  ::unsetenv("DEEPGAP_PLUGINS");
  const fs::path program = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(plugin_dir(), (program.parent_path().parent_path() / "lib/deepgap").string());
}

TEST(Plugin, UnknownNameIsCorrected) {
  const PluginFolder folder;
  folder.write("deepgap_onnxruntime.so", "");
  EXPECT_THAT(refusal([] { open_plugin("onnxrutime"); }, ErrorKind::usage), HasSubstr("did you mean 'onnxruntime'"));
}

TEST(Plugin, EmptyFolderIsNamed) {
  const PluginFolder folder;
  EXPECT_THAT(refusal([] { open_plugin("native"); }, ErrorKind::input), HasSubstr(folder.path().string()));
}

TEST(Plugin, NameCannotLeaveTheFolder) {
  const PluginFolder folder;
  folder.write("deepgap_alpha.so", "");
  EXPECT_THAT(refusal([] { open_plugin("x/../alpha"); }, ErrorKind::usage), HasSubstr("unknown backend"));
}

TEST(Plugin, KeepsTheLoadersReason) {
  const PluginFolder folder;
  folder.write("deepgap_broken.so", "this is no library, only text that is long enough to hold a header of one ............");
  EXPECT_THAT(refusal([] { open_plugin("broken"); }), HasSubstr("deepgap_broken.so: invalid ELF header"));
}

TEST(Plugin, LibraryWithoutAnEntryIsNamed) {
  const PluginFolder folder;
  fs::path library;
  for (const char* path : {"/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6"}) {
    if (fs::exists(path)) library = path;
  }
  ASSERT_FALSE(library.empty());
  fs::create_symlink(library, folder.path() / "deepgap_math.so");
  EXPECT_THAT(refusal([] { open_plugin("math"); }), HasSubstr("undefined symbol: deepgap_backend"));
}

TEST(Plugin, DefectsOfAnEntry) {
  EXPECT_EQ(plugin_defect({backend_abi, DEEPGAP_BUILD_TAG, make_nothing}), std::nullopt);
  EXPECT_THAT(plugin_defect({backend_abi + 1, DEEPGAP_BUILD_TAG, make_nothing}).value(),
              HasSubstr(fmt::format("ABI {}, this program has {}", backend_abi + 1, backend_abi)));
  EXPECT_THAT(plugin_defect({backend_abi, "clang-abi7", make_nothing}).value(), HasSubstr("built as 'clang-abi7'"));
  EXPECT_THAT(plugin_defect({backend_abi, nullptr, make_nothing}).value(), HasSubstr("built as ''"));
  EXPECT_THAT(plugin_defect({backend_abi, DEEPGAP_BUILD_TAG, nullptr}).value(), HasSubstr("makes no backend"));
}

TEST(Plugin, AbsentBackendsSayWhy) {
  const PluginFolder folder;
  EXPECT_THAT(refusal([] { open_plugin("tensorflow"); }), HasSubstr("graph mode"));
  EXPECT_EQ(absent_backends().size(), 5u);
  folder.write("deepgap_openvino.so", "");
  EXPECT_EQ(absent_backends().size(), 4u);  // found, so no longer absent, whether or not it loads
}

}  // namespace
}  // namespace deepgap
