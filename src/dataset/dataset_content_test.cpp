#include "dataset/dataset_content.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

class DatasetContent : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root);
    fs::create_directories(root / "a" / "cat");
    write("a/cat/1.png", "first");
    write("a/cat/2.png", std::string(3 << 20, 'x'));
    write("labels.txt", "0\n1\n");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(root / name, std::ios::binary) << text; }
  std::string of(const std::string& name, const std::string& labels = "", size_t whole = size_t{256} << 20) const {
    return dataset_content(root / name, labels.empty() ? "" : (root / labels).string(), whole);
  }

  fs::path root = fs::path(testing::TempDir()) / "dataset_content";
};

TEST_F(DatasetContent, a_copy_at_another_path_is_the_same) {
  fs::copy(root / "a", root / "b", fs::copy_options::recursive);
  EXPECT_EQ(of("a"), of("b"));
  EXPECT_EQ(of("a/cat/1.png"), of("b/cat/1.png"));
  EXPECT_EQ(of("a").size(), 32U);
}

TEST_F(DatasetContent, what_is_changed_renamed_or_added_makes_another) {
  const std::string before = of("a");
  write("a/cat/1.png", "worst");
  const std::string changed = of("a");
  EXPECT_NE(changed, before);
  fs::rename(root / "a/cat/1.png", root / "a/cat/0.png");
  const std::string renamed = of("a");
  EXPECT_NE(renamed, changed);
  write("a/cat/3.png", "");
  EXPECT_NE(of("a"), renamed);
}

TEST_F(DatasetContent, labels_belong_to_it) {
  const std::string before = of("a", "labels.txt");
  EXPECT_NE(before, of("a"));
  write("labels.txt", "1\n0\n");
  EXPECT_NE(of("a", "labels.txt"), before);
}

TEST_F(DatasetContent, of_much_a_part_is_read_and_the_size_still_tells) {
  const std::string before = of("a", "", 10);
  write("a/cat/2.png", std::string(3 << 20, 'x') + "y");
  EXPECT_NE(of("a", "", 10), before);
}

TEST_F(DatasetContent, what_a_name_tells_has_none) {
  for (const char* name : {"seeded", "zeros", "pictures", "crops:8"}) EXPECT_EQ(dataset_content(name, ""), "") << name;
  EXPECT_EQ(of("not there"), "");
}

}  // namespace
}  // namespace deepgap
