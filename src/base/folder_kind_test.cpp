#include "base/folder_kind.h"

#include "base/file.h"
#include "base/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deepgap {
namespace {

using testing::HasSubstr;

std::string kind_with(const std::vector<std::string>& names, const std::string& folder = "net") {
  const TemporaryFolder temporary;
  make_directories(temporary / folder);
  for (const std::string& name : names) write_file_atomic(temporary / (folder + "/" + name), "");
  return folder_kind((temporary / folder));
}

TEST(FolderKind, IsNamedByWhatLiesInIt) {
  EXPECT_THAT(kind_with({"Manifest.json"}, "net.mlpackage"), HasSubstr("Core ML package"));
  EXPECT_THAT(kind_with({"coremldata.bin", "model.mil"}), HasSubstr("compiled Core ML"));
  EXPECT_THAT(kind_with({"net.xml", "net.bin"}), HasSubstr("OpenVINO's IR"));
  EXPECT_THAT(kind_with({"net.param", "net.bin"}), HasSubstr("ncnn"));
  EXPECT_THAT(kind_with({"config.json", "rank0.engine"}), HasSubstr("TensorRT engine"));
  EXPECT_THAT(kind_with({"config.json", "model-00001-of-00002.safetensors"}), HasSubstr("optimum-cli export onnx"));
  EXPECT_THAT(kind_with({"config.json", "model.weights.h5"}), HasSubstr("Keras"));
  EXPECT_THAT(kind_with({"model.ckpt.index", "model.ckpt.data-00000-of-00001"}), HasSubstr("TensorFlow checkpoint"));
  EXPECT_THAT(kind_with({"saved_model.pbtxt"}), HasSubstr("text form"));
  EXPECT_THAT(kind_with({}), HasSubstr("is a folder: give an ONNX file"));
}

TEST(FolderKind, FilesThatCanBeGivenAreNamedFirst) {
  EXPECT_EQ(kind_with({"net.onnx", "config.json", "model.safetensors"}), "is a folder, in which lies net.onnx: give that file");
  EXPECT_EQ(kind_with({"a.onnx", "b.onnx", "c.onnx", "d.onnx"}),
            "is a folder, in which lie a.onnx, b.onnx, c.onnx and others: give one of them");
  EXPECT_EQ(kind_with({"q4.gguf"}), "is a folder, in which lies q4.gguf: give that file");
}

}  // namespace
}  // namespace deepgap
