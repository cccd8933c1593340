#include "model/weights/safetensors.h"

#include "model/onnx_test_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string with_header(const std::string& header, const std::string& data = "") {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string error_of(const std::string& content) {
  const ScratchFolder folder;
  const std::string path = folder.write("w.safetensors", content);
  const std::string message = input_error([&] { read_safetensors(path); });
  EXPECT_THAT(message, AllOf(testing::StartsWith(path), Not(HasSubstr("\n")))) << content;
  return message;
}

TEST(Safetensors, RoundTrip) {
  const ScratchFolder folder;
  Tensor floats = make_tensor(DataType::f32, {2, 3}), bytes = make_tensor(DataType::i8, {3}), none = make_tensor(DataType::f64, {0, 4});
  for (int i = 0; i < 6; ++i) writable<float>(floats)[i] = 0.5f * static_cast<float>(i);
  for (int i = 0; i < 3; ++i) writable<int8_t>(bytes)[i] = static_cast<int8_t>(-i);
  write_safetensors(folder.path("w"), {{"a.bytes", bytes}, {"b.floats", floats}, {"c.none", none}}, {{"license", "Apache-2.0"}});
  const auto read = read_safetensors(folder.path("w"));
  ASSERT_EQ(read.size(), 3u);
  EXPECT_THAT(read.at("b.floats").as<float>(), ElementsAre(0, 0.5f, 1, 1.5f, 2, 2.5f));
  EXPECT_THAT(read.at("b.floats").shape, ElementsAre(2, 3));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read.at("b.floats").data.get()) % 4, 0u);
  EXPECT_THAT(read.at("a.bytes").as<int8_t>(), ElementsAre(0, -1, -2));
  EXPECT_THAT(read.at("c.none").shape, ElementsAre(0, 4));
}

TEST(Safetensors, UnalignedDataIsCopiedToAnAlignedPlace) {
  const ScratchFolder folder;
  const float content[] = {1, 2};
  const std::string header =
      R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  const auto read =
      read_safetensors(folder.write("w", with_header(header, "x" + std::string(reinterpret_cast<const char*>(content), sizeof(content)))));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read.at("f").data.get()) % 4, 0u);
  EXPECT_THAT(read.at("f").as<float>(), ElementsAre(1, 2));
}

TEST(Safetensors, HostileFiles) {
  EXPECT_THAT(error_of(with_header(R"({"two\nlines \u001b[31m":{"shape":[1]}})")),
              AllOf(HasSubstr("two lines  [31m"), HasSubstr("no dtype")));
  EXPECT_THAT(error_of(""), HasSubstr("it is empty"));
  EXPECT_THAT(error_of("1234567"), HasSubstr("8 bytes"));
  EXPECT_THAT(error_of(std::string(8, '\xff')), HasSubstr("header"));
  EXPECT_THAT(error_of(with_header("{").substr(0, 8)), HasSubstr("cut off"));
  EXPECT_THAT(error_of(with_header("not json")), HasSubstr("is not JSON"));
  EXPECT_THAT(error_of(with_header("[1]")), HasSubstr("object"));
  EXPECT_THAT(error_of(with_header(std::string(100'000, '['))), HasSubstr("nested"));
  EXPECT_THAT(error_of(with_header(R"({"a":1})")), HasSubstr("dtype"));
  EXPECT_THAT(error_of(with_header(R"({"a":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]}})", "x")), HasSubstr("dtype"));
  EXPECT_THAT(error_of(with_header(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", "x")), HasSubstr("shape"));
  EXPECT_THAT(error_of(with_header(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "x")), HasSubstr("invalid size"));
  EXPECT_THAT(error_of(with_header(R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", "x")), HasSubstr("invalid size"));
  EXPECT_THAT(error_of(with_header(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})")), HasSubstr("reason"));
  EXPECT_THAT(error_of(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234")),
              HasSubstr("needs 8 bytes, it has 4"));
  EXPECT_THAT(error_of(with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "123")), HasSubstr("cut off"));
  EXPECT_THAT(error_of(with_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", "x")), HasSubstr("outside"));
  EXPECT_THAT(error_of(with_header(
                  R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x")),
              HasSubstr("overlap"));
  EXPECT_THAT(error_of(with_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "xy")), HasSubstr("belong to no tensor"));
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(input_error([&] { read_safetensors(folder.path("pipe")); }), HasSubstr("regular file"));
}

TEST(Safetensors, RandomMutationsNeverCrash) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  const std::string good =
      with_header(R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]}})",
                  "12345678\1\0\2");
  for (int i = 0; i < 5000; ++i) {
    auto bytes = std::make_shared<std::string>(good);
    for (size_t k = 1 + random() % 3; k > 0; --k) (*bytes)[random() % bytes->size()] = static_cast<char>(random());
    const MappedFile file{{bytes, reinterpret_cast<const std::byte*>(bytes->data())}, bytes->size()};
    try {
      for (const auto& [name, tensor] : parse_safetensors(file, "w")) EXPECT_NE(tensor.data, nullptr);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::input) << "seed " << seed << ", mutation " << i;
      ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "seed " << seed << ", mutation " << i;
    }
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
}

}  // namespace
}  // namespace deepgap
