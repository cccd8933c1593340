// Tensors in files beside the model: nothing outside its folder, nothing past their end.
#include "model/onnx_test_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace deepgap {
namespace {

using testing::HasSubstr;

// conv_model() in `folder`, its bias in an external file.
std::string external_error(const ScratchFolder& folder, const std::string& location, const std::string& offset = "0",
                           const std::string& length = "16") {
  pb::ModelProto model = conv_model();
  auto* bias = model.mutable_graph()->mutable_initializer(1);
  bias->clear_float_data();
  bias->set_data_location(pb::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location}, {"offset", offset}, {"length", length}}) {
    auto* entry = bias->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  std::filesystem::create_directories(folder.path("model"));
  const std::string path = folder.write("model/m.onnx", model.SerializeAsString());
  return input_error([&] { read_onnx(path); });
}

TEST(HostileOnnx, ExternalDataStaysInItsFolder) {
  const ScratchFolder folder;
  const std::string sixteen(16, '\0');
  folder.write("outside.bin", sixteen);
  EXPECT_THAT(external_error(folder, "../outside.bin"), HasSubstr("outside the model's folder"));
  EXPECT_THAT(external_error(folder, folder.path("outside.bin")), HasSubstr("relative"));
  EXPECT_THAT(external_error(folder, "/etc/passwd"), HasSubstr("relative"));
  EXPECT_THAT(external_error(folder, ""), HasSubstr("relative"));
  std::filesystem::create_symlink("../outside.bin", folder.path("model/link.bin"));
  EXPECT_THAT(external_error(folder, "link.bin"), HasSubstr("outside the model's folder"));
  std::filesystem::create_directory_symlink("..", folder.path("model/up"));
  EXPECT_THAT(external_error(folder, "up/outside.bin"), HasSubstr("outside the model's folder"));
  // A folder whose name begins like the model's is another one.
  std::filesystem::create_directories(folder.path("model2"));
  folder.write("model2/w.bin", sixteen);
  EXPECT_THAT(external_error(folder, "../model2/w.bin"), HasSubstr("outside the model's folder"));
  folder.write("model/inside.bin", sixteen);
  std::filesystem::create_symlink("inside.bin", folder.path("model/good.bin"));
  EXPECT_EQ(external_error(folder, "good.bin"), "");
  EXPECT_EQ(external_error(folder, "../model/inside.bin"), "");
}

TEST(HostileOnnx, ExternalDataThatDisagrees) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path("model"));
  folder.write("model/w.bin", std::string(20, '\0'));
  EXPECT_EQ(external_error(folder, "w.bin", "4"), "");
  EXPECT_THAT(external_error(folder, "w.bin", "5"), HasSubstr("the file has 20"));
  EXPECT_THAT(external_error(folder, "w.bin", "-1"), HasSubstr("offset"));
  EXPECT_THAT(external_error(folder, "w.bin", "9223372036854775807"), HasSubstr("the file has 20"));
  EXPECT_THAT(external_error(folder, "w.bin", "0", "12"), HasSubstr("length 12"));
  EXPECT_THAT(external_error(folder, "missing.bin"), HasSubstr("missing.bin"));
  std::filesystem::create_directories(folder.path("model/sub"));
  EXPECT_THAT(external_error(folder, "sub"), HasSubstr("regular file"));
  ASSERT_EQ(::mkfifo(folder.path("model/pipe").c_str(), 0600), 0);
  EXPECT_THAT(external_error(folder, "pipe"), HasSubstr("regular file"));
}

}  // namespace
}  // namespace deepgap
