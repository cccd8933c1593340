#include "cli/axis_values.h"

#include "base/file.h"
#include "base/temporary_folder.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Strings = std::vector<std::string>;

TEST(AxisValues, lists_ranges_and_names_as_people_write_them) {
  EXPECT_EQ(axis_values("batch", "1..4*2,8", "--batch"), (Strings{"1", "2", "4", "8"}));
  EXPECT_EQ(axis_values("precision", "FP16,fp16,f32", "--precision"), (Strings{"fp16", "fp32"}));
  EXPECT_EQ(axis_values("model", "ResNet-50,mobilenetV2:width=0.5,classes=10,resnet50", "--model"),
            (Strings{"resnet50", "mobilenet_v2:width=0.5,classes=10"}));
  EXPECT_EQ(axis_values("model", "a.onnx,b.onnx", "--model"), (Strings{"a.onnx", "b.onnx"}));
  EXPECT_THROW(axis_values("batch", "", "--batch"), Error);
  EXPECT_THROW(axis_values("batch", "1,,2", "--batch"), Error);
}

TEST(AxisValues, a_file_with_commas_is_one_value) {
  const TemporaryFolder folder;
  const std::string file = folder / "a,b,c.onnx", other = folder / "d.onnx";
  write_file_atomic(file, "x");
  EXPECT_EQ(axis_values("model", file, "--model"), Strings{file});
  EXPECT_EQ(axis_values("model", other + "," + file + ",resnet18", "--model"), (Strings{other, file, "resnet18"}));
  EXPECT_EQ(axis_values("precision", file, "--precision").size(), 3u) << "precisions are no files";
}

// Each name begins no file with commas, which is looked for among the next ones only: a list of 5,000 took minutes.
TEST(AxisValues, long_lists_keep_their_order) {
  std::string text;
  Strings expected;
  for (int i = 0; i < 5000; ++i) {
    expected.push_back("none" + std::to_string(i));
    text += (i == 0 ? "" : ",") + expected.back();
  }
  EXPECT_EQ(axis_values("model", text, "--model"), expected);
}

TEST(AxisValues, names_of_models) {
  EXPECT_EQ(usual_model("RESNET50"), "resnet50");
  EXPECT_EQ(usual_model("resnet5"), "resnet5");
  EXPECT_EQ(usual_model("ResNet50.onnx"), "ResNet50.onnx");
  EXPECT_EQ(usual_model("dir/ResNet50"), "dir/ResNet50");
}

TEST(AxisValues, words_that_are_studies) {
  EXPECT_TRUE(is_study_word("studies/quickstart.toml"));
  EXPECT_TRUE(is_study_word("A.TOML"));
  EXPECT_FALSE(is_study_word("resnet50"));
  EXPECT_FALSE(is_study_word("a.onnx"));
}

}  // namespace
}  // namespace deepgap
