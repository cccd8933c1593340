// The forms of a label file. What `run` makes of them is in tests/cli/accuracy_test.py.
#include "dataset/labels.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

std::vector<std::pair<std::string, int64_t>> entries_of(const std::string& text) {
  std::vector<std::pair<std::string, int64_t>> found;
  for (const auto& entry : LabelFile(written("labels.txt", text)).entries()) found.emplace_back(entry.file, entry.label);
  return found;
}

TEST(LabelFile, ReadsItsForms) {
  using Entries = std::vector<std::pair<std::string, int64_t>>;
  EXPECT_EQ(entries_of("a.png,3\nb,c.png,0\n"), (Entries{{"a.png", 3}, {"b,c.png", 0}}));
  EXPECT_EQ(entries_of("filename, class\r\n\"a b.png\", 3\r\n"), (Entries{{"a b.png", 3}}));
  EXPECT_EQ(entries_of("ILSVRC2012_val_00000001.JPEG 65\nval/x y.JPEG\t970\n"),
            (Entries{{"ILSVRC2012_val_00000001.JPEG", 65}, {"val/x y.JPEG", 970}}));
  EXPECT_EQ(entries_of("# of the test set\n7\n\n2\n"), (Entries{{"", 7}, {"", 2}}));
}

TEST(LabelFile, ListsClassesByTheirFolders) {
  const LabelFile list(written("classes.txt", "n01440764 tench, Tinca tinca\nn01443537 goldfish\nbig cat\n"));
  const std::vector<std::string> folders{"big cat", "n01443537"};
  EXPECT_TRUE(list.lists_classes(folders));
  EXPECT_THAT(list.classes_of(folders), ElementsAre(2, 1));
  EXPECT_FALSE(list.lists_classes({"train", "val"}));
}

TEST(LabelFile, NamesTheLineThatIsWrong) {
  try {
    entries_of("a.png,3\n\nb.png,x\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.what(), HasSubstr("labels.txt:3: 'x' is not the number"));
  }
}

TEST(Labels, AreShiftedAndHeldToTheClasses) {
  Labels labels{{0, 999}, "val_map.txt"};
  place_labels(labels, 1, 1001);
  EXPECT_THAT(labels.classes, ElementsAre(1, 1000));
  EXPECT_THROW(place_labels(labels, 1, 1001), Error);
  for (const int64_t offset : {INT64_MAX, INT64_MIN}) {
    Labels extreme{{offset, 3}, "a test"};
    EXPECT_THROW(place_labels(extreme, offset > 0 ? 1 : -1, 0), Error) << "beyond 64 bits";
  }
  EXPECT_NO_THROW(place_labels(labels, 0, 0)) << "how many classes there are is not known";
}

}  // namespace
}  // namespace deepgap
