#include "worker/plugin.h"

#include "base/temporary_folder.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_EQ(plugin_folders().front(), folder.path().string());
  const std::vector<std::string> names = plugin_names();
  EXPECT_THAT(names, ::testing::IsSupersetOf({"alpha", "zeta"}));
  EXPECT_THAT(names, ::testing::Not(Contains("old")));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Plugin, FoldersThatAreNamedComeBeforeTheProgramsOwn) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const std::string own = (program.parent_path().parent_path() / "lib/deepgap").string();
  ::unsetenv("DEEPGAP_PLUGINS");
  EXPECT_THAT(plugin_folders(), ElementsAre(own));
  const PluginFolder first, second;  // the second is the one that is named now
  second.write("deepgap_alpha.so", "");
  second.write("deepgap_beta.so", "");
  first.write("deepgap_alpha.so", "");
  ::setenv("DEEPGAP_PLUGINS", fmt::format("{}::{}:", first.path().string(), second.path().string()).c_str(), 1);
  EXPECT_THAT(plugin_folders(), ElementsAre(first.path().string(), second.path().string(), own))
      << "an empty one is not the working directory";
  EXPECT_EQ(plugin_path("alpha"), (first.path() / "deepgap_alpha.so").string());
  EXPECT_EQ(plugin_path("beta"), (second.path() / "deepgap_beta.so").string());
  EXPECT_EQ(plugin_path("gamma"), "");
}

TEST(Plugin, UnknownNameIsCorrected) {
  const PluginFolder folder;
  folder.write("deepgap_onnxruntime.so", "");
  EXPECT_THAT(refusal([] { open_plugin("onnxrutime"); }, ErrorKind::usage), HasSubstr("did you mean 'onnxruntime'"));
}

TEST(Plugin, NameCannotLeaveTheFolder) {
  const PluginFolder folder;
  folder.write("deepgap_alpha.so", "");
  EXPECT_THAT(refusal([] { open_plugin("x/../alpha"); }, ErrorKind::usage), HasSubstr("invalid value 'x/../alpha' for backend: expected "));
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
  EXPECT_THAT(refusal([] { open_plugin("tensorrt"); }), HasSubstr("ONNX Runtime has a provider for it"));
  const auto is_absent = [](const std::string& name) {
    const auto rows = absent_backends();
    return std::any_of(rows.begin(), rows.end(), [&](const AbsentBackend& row) { return row.name == name; });
  };
  EXPECT_TRUE(is_absent("tensorrt"));
  folder.write("deepgap_tensorrt.so", "");
  EXPECT_FALSE(is_absent("tensorrt")) << "found, so no longer absent, whether or not it loads";
}

}  // namespace
}  // namespace deepgap
