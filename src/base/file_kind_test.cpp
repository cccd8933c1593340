#include "base/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string kind_of(const std::string& bytes) { return other_file_kind(std::as_bytes(std::span(bytes))); }

TEST(FileKind, IsNamedWithWhatToDo) {
  EXPECT_THAT(kind_of("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(kind_of(std::string("\x1f\x8b\x08\x00", 4)), HasSubstr("gzip -d"));
  EXPECT_THAT(kind_of(std::string("\x20\0\0\0ORTM", 8)), HasSubstr("ORT format"));
  EXPECT_THAT(kind_of(std::string("\x1c\0\0\0TFL3", 8)), HasSubstr("TensorFlow Lite"));
  EXPECT_THAT(kind_of(std::string("\x08\0\0\0\0\0\0\0{\"a\":{}}", 16)), HasSubstr("safetensors"));
  EXPECT_THAT(kind_of("\xef\xbb\xbf\n <!DOCTYPE html>\n<html>"), HasSubstr("HTML page"));
  EXPECT_THAT(kind_of("<HTML lang=en>"), HasSubstr("HTML page"));
  EXPECT_EQ(kind_of(""), "is empty");
  EXPECT_THAT(kind_of("7z\xbc\xaf\x27\x1c..."), HasSubstr("7z archive"));
  EXPECT_THAT(kind_of(std::string(257, 'x') + "ustar" + std::string(250, 'x')), HasSubstr("tar -xf"));
  EXPECT_THAT(kind_of("\x89PNG\r\n\x1a\n"), HasSubstr("image"));
  EXPECT_THAT(kind_of("\x80\x04\x95..."), HasSubstr("pickle"));
  EXPECT_THAT(kind_of("\x7f"
                      "ELF\x02"),
              HasSubstr("program or library"));
}

std::string archive(const std::string& first_entry) {
  std::string header = "PK\x03\x04" + std::string(26, '\0');
  header[26] = static_cast<char>(first_entry.size());
  return header + first_entry + std::string(40, 'x');
}

TEST(FileKind, PyTorchsArchivesAreZipFiles) {
  EXPECT_THAT(kind_of(archive("archive/data.pkl")), HasSubstr("PyTorch archive: torch.onnx.export"));
  EXPECT_THAT(kind_of(archive("model.onnx")), HasSubstr("ZIP archive: unpack it"));
  EXPECT_THAT(kind_of("PK\x03\x04"), HasSubstr("ZIP archive"));
}

TEST(FileKind, OtherArchivesAreNamedByTheirFirstEntry) {
  EXPECT_THAT(kind_of(archive("metadata.json")), HasSubstr("Keras archive"));
  EXPECT_THAT(kind_of(archive("arr_0.npy")), AllOf(HasSubstr("NumPy arrays"), HasSubstr("dataset")));
  EXPECT_THAT(kind_of(archive("MAR-INF/MANIFEST.json")), HasSubstr("TorchServe"));
  EXPECT_THAT(kind_of(archive("net.mlpackage/Manifest.json")), HasSubstr("Core ML package"));
}

TEST(FileKind, NetworksOfOtherEnginesAreNamed) {
  EXPECT_THAT(kind_of("7767517\n75 83\nInput data 0 1 data 0=227\n"), HasSubstr("ncnn"));
  EXPECT_THAT(kind_of(std::string("\xdd\x85\x76\0\x4b\0\0\0", 8)), HasSubstr("ncnn"));
  EXPECT_THAT(kind_of("<?xml version=\"1.0\"?>\n<net name=\"a\" version=\"11\">\n"), HasSubstr("OpenVINO's IR: give the ONNX file"));
  EXPECT_THAT(kind_of("<net name=\"a\" version=\"10\">\n"), HasSubstr("OpenVINO's IR"));
  EXPECT_THAT(kind_of("<?xml version=\"1.0\"?>\n<PMML version=\"4.4\">\n"), AllOf(HasSubstr("XML file"), Not(HasSubstr("OpenVINO"))));
  EXPECT_THAT(kind_of(std::string("\x12\x01\0\0\0\0\0\0\0", 9)), HasSubstr("MXNet"));
}

TEST(FileKind, OnnxAndUnknownBytesAreNone) {
  EXPECT_EQ(kind_of(std::string("\x08\x08\x12\x04test:\x10", 10)), "");
  EXPECT_EQ(kind_of("something else"), "");
  EXPECT_EQ(kind_of("{\"error\": \"not found\"}"), "");
}

TEST(FileKind, WhatIsGivenAsANetworkAndIsNone) {
  const auto kind = [](const std::string& text) { return not_onnx_kind(std::as_bytes(std::span(text))); };
  EXPECT_THAT(kind("{\"error\": \"not found\"}"), HasSubstr("JSON document"));
  EXPECT_THAT(kind("\n [1, 2]"), HasSubstr("JSON document"));
  EXPECT_THAT(kind("{\"format\": \"graph-model\", \"generatedBy\": \"2.8.0\"}"), HasSubstr("TensorFlow.js"));
  EXPECT_THAT(kind("#!/usr/bin/env python\nimport torch\n"), HasSubstr("text file"));
  EXPECT_THAT(kind("name: \"AlexNet\"\nlayer {\n"), HasSubstr("text file"));
  EXPECT_THAT(kind(std::string("\xff\xfeh\0i\0", 6)), HasSubstr("text file"));
  EXPECT_THAT(kind("%PDF-1.4\n"), HasSubstr("PDF"));
  EXPECT_THAT(kind("\n\x0e\n\x05input\x12\x0bPlaceholder"), HasSubstr("frozen TensorFlow graph"));
  EXPECT_THAT(kind(std::string("\n\x05\x08\0\x10\xff\x01", 7)), HasSubstr("PaddlePaddle"));
  EXPECT_THAT(kind(std::string("\n\x07"
                               "VGG_net\x12\x04",
                               11)),
              HasSubstr("Caffe"));
  EXPECT_THAT(kind(""), HasSubstr("is empty"));
  EXPECT_EQ(kind(std::string("\x08\x08\x12\x04test:\x10", 10)), "");
}

TEST(FileKind, WhatIsGivenAsGgufAndIsNone) {
  const auto kind = [](const std::string& text) { return not_gguf_kind(std::as_bytes(std::span(text))); };
  EXPECT_THAT(kind("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(kind("<!DOCTYPE html>"), HasSubstr("HTML page"));
  EXPECT_THAT(kind("{\"error\": \"Repository not found\"}"), HasSubstr("JSON document"));
  EXPECT_THAT(kind("Entry not found"), HasSubstr("text file, not a GGUF file"));
  EXPECT_THAT(kind("tjgg\3"), HasSubstr("before GGUF"));
  EXPECT_THAT(kind(""), HasSubstr("is empty"));
  EXPECT_THAT(kind(std::string("\x08\x08\x12\x04test:\x10", 10)), HasSubstr("does not begin with 'GGUF'"));
  EXPECT_EQ(kind("GGUF\3"), "");
}

}  // namespace
}  // namespace deepgap
