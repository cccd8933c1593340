#include "engine/gpu/tuned_file.h"

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace deepgap::gpu {
namespace {

class TunedFileTest : public ::testing::Test {
 protected:
  // Returns the text of a file with one tuned configuration.
  std::string written() const {
    TunedFile file(path_);
    file.add("a", "wgmma 64", 10);
    file.save();
    return read_text(path_);
  }
  bool is_known(const std::string& key) const { return TunedFile(path_).find(key) != nullptr; }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/tuned/h100.txt";
};

TEST_F(TunedFileTest, KeepsWhatOthersWroteMeanwhile) {
  TunedFile first(path_), second(path_);
  first.add("a", "wgmma 64", 10);
  second.add("b", "mma 32", 20);
  first.save();
  second.save();
  const TunedFile both(path_);
  ASSERT_NE(both.find("a"), nullptr);
  EXPECT_EQ(*both.find("a"), "wgmma 64");
  ASSERT_NE(both.find("b"), nullptr);
}

TEST_F(TunedFileTest, OfATornOneTheWholeLinesCount) {
  const std::string whole = written();
  write_file_atomic(path_, whole + "b\tmm");
  EXPECT_TRUE(is_known("a"));
  EXPECT_FALSE(is_known("b"));
  write_file_atomic(path_, whole + "b\tmma 32\ttwenty\n\tx\n\0\xff");
  EXPECT_TRUE(is_known("a"));
  EXPECT_FALSE(is_known("b"));
}

TEST_F(TunedFileTest, OneOfAnotherUserIsAsNone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's file";
  written();
  EXPECT_TRUE(is_known("a"));
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(is_known("a"));
}

TEST_F(TunedFileTest, AForeignOneOrOneOfAnotherVersionIsAsNoneAndIsReplaced) {
  const std::string whole = written();
  for (const std::string& other :
       {std::string("a\twgmma 64\t10\n"), "deepgap's quickest kernels, version 0\n" + whole.substr(whole.find('\n') + 1), std::string()}) {
    write_file_atomic(path_, other);
    EXPECT_FALSE(is_known("a")) << other;
    EXPECT_EQ(written(), whole);
  }
}

TEST_F(TunedFileTest, WhatCannotBeWrittenIsForgotten) {
  make_directories(path_);  // a folder in its place
  TunedFile file(path_);
  file.add("a", "wgmma 64", 10);
  EXPECT_NO_THROW(file.save());
  EXPECT_NE(file.find("a"), nullptr) << "this process remembers";
  EXPECT_FALSE(is_known("a"));
}

// Each process adds one at a time, so that they read and write between each other.
TEST_F(TunedFileTest, OfProcessesThatTuneAtOnceNoneLosesWhatAnotherFound) {
  constexpr int processes = 4, each = 50;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0; i < each; ++i) {
        TunedFile file(path_);
        file.add(fmt::format("{} {}", p, i), "mma", 1);
        file.save();
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const TunedFile all(path_);
  for (int p = 0; p < processes; ++p)
    for (int i = 0; i < each; ++i) EXPECT_NE(all.find(fmt::format("{} {}", p, i)), nullptr) << p << ' ' << i;
}

TEST_F(TunedFileTest, WhatIsShippedIsKnownUntilSomethingElseWasFoundHere) {
  const std::string shipped = "deepgap's quickest kernels, version 1\na\tmma 1\t10\nb\tmma 2\t10\n";
  TunedFile file(path_, shipped);
  ASSERT_NE(file.find("a"), nullptr);
  file.add("a", "wgmma 3", 5);
  file.save();
  const TunedFile again(path_, shipped);
  EXPECT_EQ(*again.find("a"), "wgmma 3");
  EXPECT_EQ(*again.find("b"), "mma 2");
  EXPECT_EQ(TunedFile(path_).find("b"), nullptr) << "the shipped ones are not copied";
}

const Chip h200{90, 132, 227 << 10};

TEST(ShippedWinners, AreOfTheVersionThatIsRead) {
  for (const char* device : {"NVIDIA H200", "NVIDIA H100 80GB HBM3"}) {
    const TunedFile file("", shipped_winners(device, {}));
    EXPECT_FALSE(file.empty()) << device;
  }
}

// The first problem of `text` for which `matches` holds.
template <typename Matches>
std::string problem_of(std::string_view text, const Matches& matches) {
  for (const std::string& line : split(std::string(text), '\n')) {
    const std::string problem = line.substr(0, line.find('\t'));
    if (problem != line && matches(problem)) return problem;
  }
  return "";
}

TEST(ShippedWinners, OfAChipLikeItAreTakenWhereADeviceHasNone) {
  const TunedFile own("", shipped_winners("NVIDIA H100 80GB HBM3", {80, 108, 164 << 10})),
      both("", shipped_winners("NVIDIA H100 80GB HBM3", h200)), others("", shipped_winners("NVIDIA H200", {}));
  const auto all = shipped_winners("NVIDIA H200", {});
  const std::string of_both = problem_of(all, [&](const auto& p) { return own.find(p) != nullptr && *own.find(p) != *others.find(p); });
  const std::string of_others = problem_of(all, [&](const auto& p) { return own.find(p) == nullptr; });
  ASSERT_NE(of_both, "");
  ASSERT_NE(both.find(of_both), nullptr);
  EXPECT_EQ(*both.find(of_both), *own.find(of_both));
  ASSERT_NE(of_others, "");
  ASSERT_NE(both.find(of_others), nullptr);
  EXPECT_EQ(*both.find(of_others), *others.find(of_others));
  EXPECT_TRUE(shipped_winners("NVIDIA H100 PCIe", {90, 114, 227 << 10}).empty());
  EXPECT_TRUE(shipped_winners("a card of nobody", {100, 132, 227 << 10}).empty());
}

TEST(ShippedWinners, TellWhatTheyWereFoundOn) {
  for (const char* device : {"NVIDIA H200", "NVIDIA H100 80GB HBM3"})
    EXPECT_NE(shipped_winners(device, {}).find("\n" + chip_line(h200) + "\n"), std::string_view::npos) << device;
}

TEST_F(TunedFileTest, TheNearestBatchIsNearestAsARatio) {
  TunedFile file(path_);
  for (const char* key :
       {"f16_n4_7x7", "f16_n16_7x7", "f16_n1_7x7_z", "f16_n_7x7", "f16_nx_7x7", "tf32_n8_7x7", "f16_n256_7x7", "f16_n0_7x7"})
    file.add(key, std::string("that of ") + key, 1);
  const auto nearest = [&](int64_t batch) {
    const std::string* found = file.find_nearest("f16_n", batch, "_7x7");
    return found == nullptr ? "none" : *found;
  };
  EXPECT_EQ(nearest(5), "that of f16_n4_7x7");
  EXPECT_EQ(nearest(4), "none") << "its own is no guess";
  EXPECT_EQ(nearest(8), "that of f16_n4_7x7") << "of two as near the lower";
  EXPECT_EQ(nearest(9), "that of f16_n16_7x7");
  EXPECT_EQ(nearest(2), "that of f16_n4_7x7") << "one with a zero point is another layer";
  EXPECT_EQ(nearest(48), "that of f16_n16_7x7");
  EXPECT_EQ(nearest(49), "none");
  EXPECT_EQ(nearest(768), "that of f16_n256_7x7");
}

TEST_F(TunedFileTest, WhatWasFoundHereGoesBeforeWhatAChipLikeItBrings) {
  const std::string shipped = shipped_winners("NVIDIA H100 80GB HBM3", h200);
  const std::string key = "f16_f16_n12608_1x1x768p768_1x1x2304p2304_k1x1_f16";
  TunedFile file(path_, shipped);
  ASSERT_NE(file.find(key), nullptr);
  file.add(key, "a kernel found here", 5);
  file.save();
  EXPECT_EQ(*TunedFile(path_, shipped).find(key), "a kernel found here");
}

}  // namespace
}  // namespace deepgap::gpu
