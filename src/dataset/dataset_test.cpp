#include "dataset/kinds.h"
#include "dataset/npy.h"
#include "dataset/open_dataset.h"
#include "model/onnx_writer.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TensorInfo picture_input(int64_t size) { return {"input", DataType::f32, Dims{{1, batch_symbol}, {3, ""}, {size, ""}, {size, ""}}}; }

DatasetRequest request_for(const std::string& name, TensorInfo input = picture_input(16)) {
  DatasetRequest request;
  request.name = name;
  request.inputs = {std::move(input)};
  return request;
}

std::string error_of(const DatasetRequest& request) {
  try {
    auto dataset = open_dataset(request);
    dataset->load(std::vector<uint32_t>{0});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string fresh_folder(const std::string& name) {
  const std::string path = testing::TempDir() + name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

TEST(Dataset, SeededSamplesDifferFromEachOtherAndRepeat) {
  auto dataset = open_dataset(request_for("seeded"));
  auto again = open_dataset(request_for("seeded"));
  const std::vector<uint32_t> indices{0, 5};
  dataset->load(indices);
  again->load(indices);
  const auto first = dataset->sample(0).at(0);
  EXPECT_THAT(first.shape, ElementsAre(1, 3, 16, 16));
  EXPECT_TRUE(std::ranges::equal(first.as<float>(), again->sample(0).at(0).as<float>()));
  EXPECT_FALSE(std::ranges::equal(first.as<float>(), dataset->sample(5).at(0).as<float>()));
  for (const float value : first.as<float>()) ASSERT_TRUE(std::isfinite(value));
}

// The network takes two images and five boxes.
TEST(Dataset, EveryPictureOfASeededSampleIsFilled) {
  const TensorInfo pictures{"x", DataType::f32, Dims{{2, ""}, {3, ""}, {16, ""}, {16, ""}}};
  auto request = request_for("seeded", pictures);
  request.inputs.push_back({"boxes", DataType::f32, Dims{{5, ""}, {4, ""}}});
  auto dataset = open_dataset(request), again = open_dataset(request);
  for (auto* each : {dataset.get(), again.get()}) each->load(std::vector<uint32_t>{0, 1});
  const auto values = dataset->sample(0).at(0).as<float>();
  ASSERT_EQ(values.size(), size_t{2 * 3 * 16 * 16});
  EXPECT_TRUE(std::ranges::equal(values, again->sample(0).at(0).as<float>()));
  const size_t half = values.size() / 2;
  EXPECT_FALSE(std::ranges::equal(values.first(half), values.last(half)));
  EXPECT_FALSE(std::ranges::equal(values.last(half), dataset->sample(1).at(0).as<float>().first(half)));
}

TEST(Dataset, SeededPicturesWithoutElements) {
  auto dataset = open_dataset(request_for("seeded", {"x", DataType::f32, Dims{{0, ""}, {3, ""}, {16, ""}, {16, ""}}}));
  dataset->load(std::vector<uint32_t>{0});
  EXPECT_EQ(dataset->sample(0).at(0).bytes(), 0U);
}

TEST(Dataset, SeededIntegersStayInRange) {
  auto dataset = open_dataset(request_for("seeded", {"ids", DataType::i64, Dims{{1, batch_symbol}, {512, ""}}}));
  dataset->load(std::vector<uint32_t>{3});
  for (const int64_t id : dataset->sample(3).at(0).as<int64_t>()) {
    ASSERT_GE(id, 0);
    ASSERT_LT(id, 100);
  }
}

TEST(Dataset, SeededFloatsOfOtherTypesAreTheSameNumbers) {
  auto dataset = open_dataset(request_for("seeded"));
  auto doubles = open_dataset(request_for("seeded", {"input", DataType::f64, picture_input(16).dims}));
  dataset->load(std::vector<uint32_t>{2});
  doubles->load(std::vector<uint32_t>{2});
  EXPECT_EQ(doubles->sample(2).at(0).type, DataType::f64);
  EXPECT_TRUE(std::ranges::equal(doubles->sample(2).at(0).as<double>(), dataset->sample(2).at(0).as<float>()));
  auto halves = open_dataset(request_for("seeded", {"input", DataType::f16, picture_input(16).dims}));
  halves->load(std::vector<uint32_t>{2});
  EXPECT_EQ(halves->sample(2).at(0).bytes(), 2u * 3 * 16 * 16);
}

TEST(Dataset, GivenNumbersTakeThePlaceOfMadeOnes) {
  DatasetRequest request = request_for("seeded", {"ids", DataType::u16, Dims{{1, batch_symbol}, {3, ""}}});
  request.numbers = {{"ids", {7, 8, 9}}};
  auto dataset = open_dataset(request);
  dataset->load(std::vector<uint32_t>{0, 5});
  EXPECT_THAT(dataset->sample(5).at(0).as<uint16_t>(), ElementsAre(7, 8, 9));
  request.numbers = {{"ids", {4}}};
  auto one = open_dataset(request);
  one->load(std::vector<uint32_t>{0});
  EXPECT_THAT(one->sample(0).at(0).as<uint16_t>(), ElementsAre(4, 4, 4));
  request.numbers = {{"ids", {1, 2}}};
  EXPECT_THAT(error_of(request), HasSubstr("2 numbers, input 'ids' of shape [1,3] holds 3"));
  request.numbers = {{"id", {1}}};
  EXPECT_THAT(error_of(request), HasSubstr("ids"));
}

TEST(Dataset, GivenNumbersAreThoseOfTheInputsType) {
  const auto error = [](DataType type, double number) {
    DatasetRequest request = request_for("seeded", {"k", type, Dims{{1, ""}}});
    request.numbers = {{"k", {number}}};
    return error_of(request);
  };
  EXPECT_THAT(error(DataType::i64, 1.5), HasSubstr("1.5 is not a number that input 'k' of int64 holds"));
  EXPECT_THAT(error(DataType::u8, -1), HasSubstr("uint8"));
  EXPECT_THAT(error(DataType::u8, 256), HasSubstr("256"));
  EXPECT_THAT(error(DataType::i64, 0x1p63), HasSubstr("int64"));
  EXPECT_THAT(error(DataType::boolean, 2), HasSubstr("2 is not a number"));
  EXPECT_EQ(error(DataType::i64, -0x1p63), "no error");
  EXPECT_EQ(error(DataType::u8, 255), "no error");
  EXPECT_EQ(error(DataType::boolean, 1), "no error");
  EXPECT_EQ(error(DataType::f32, 1.5), "no error");
}

TEST(Dataset, ZerosAreZero) {
  auto dataset = open_dataset(request_for("zeros"));
  dataset->load(std::vector<uint32_t>{1});
  for (const float value : dataset->sample(1).at(0).as<float>()) ASSERT_EQ(value, 0);
}

TEST(Dataset, AFolderOfPicturesIsInOrderOfNames) {
  const std::string folder = fresh_folder("two_pictures");
  std::filesystem::copy("tests/data/pictures/waves.png", folder + "/b.png");
  std::filesystem::copy("tests/data/pictures/grey.jpg", folder + "/a.jpg");
  std::ofstream(folder + "/notes.txt") << "no picture";
  auto dataset = open_dataset(request_for(folder));
  ASSERT_EQ(dataset->size(), 2u);
  EXPECT_EQ(dataset->sample_name(0), "a.jpg");
  dataset->load(std::vector<uint32_t>{0, 1});
  EXPECT_THAT(dataset->sample(1).at(0).shape, ElementsAre(1, 3, 16, 16));
}

TEST(Dataset, PicturesNeedAPictureShapedInput) {
  EXPECT_THAT(error_of(request_for("tests/data/pictures/waves.png", {"x", DataType::f32, Dims{{1, batch_symbol}, {10, ""}}})),
              HasSubstr("[N,3,size,size], but input 'x' has [1,10]"));
}

TEST(Dataset, OpenSizesAreAskedFor) {
  EXPECT_THAT(error_of(request_for("seeded", {"x", DataType::f32, Dims{{1, batch_symbol}, {1, "seq"}}})),
              HasSubstr("'seq') open; give it with --shape"));
}

TEST(Dataset, WrongNamesAndEmptyFoldersAreNamed) {
  EXPECT_THAT(error_of(request_for("seded")), HasSubstr("did you mean 'seeded'?"));
  EXPECT_THAT(error_of(request_for("/nowhere/at/all")), HasSubstr("there is no dataset file or folder"));
  EXPECT_THAT(error_of(request_for(fresh_folder("empty"))), HasSubstr("holds no images"));
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const Tensor tensor = read_npy("tests/data/npy/sample.npy");
  EXPECT_EQ(tensor.type, DataType::f32);
  EXPECT_THAT(tensor.shape, ElementsAre(3, 4));
  EXPECT_EQ(tensor.as<float>()[11], 11.0f);
}

TEST(Npy, WritesAsNumpyDoes) {
  const std::string path = testing::TempDir() + "written.npy";
  write_npy(path, read_npy("tests/data/npy/sample.npy"));
  const Tensor again = read_npy(path);
  EXPECT_THAT(again.shape, ElementsAre(3, 4));
  EXPECT_EQ(again.as<float>()[11], 11.0f);
  EXPECT_EQ((std::filesystem::file_size(path) - again.bytes()) % 64, 0u);  // format 1.0: the data are aligned
  Tensor scalar = make_tensor(DataType::i64, {});
  writable<int64_t>(scalar)[0] = -7;
  write_npy(path, scalar);
  EXPECT_EQ(read_npy(path).shape, Shape{});
  EXPECT_EQ(read_npy(path).as<int64_t>()[0], -7);
  write_npy(path, make_tensor(DataType::bf16, {2, 0}));
  EXPECT_EQ(read_npy(path).type, DataType::f32);
  EXPECT_THROW(write_npy("/nowhere/at/all.npy", scalar), Error);
}

TEST(Npy, RefusesWhatItCannotReadRightly) {
  EXPECT_THROW(read_npy("tests/data/npy/fortran.npy"), Error);
  EXPECT_THROW(read_npy("tests/data/pictures/waves.png"), Error);
  const std::string path = testing::TempDir() + "short.npy";
  std::filesystem::copy("tests/data/npy/sample.npy", path, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THROW(read_npy(path), Error);
}

std::string npy_with_header(std::string header) {
  std::string content("\x93NUMPY\x02\x00", 8);
  const auto length = static_cast<uint32_t>(header.size());
  return content.append(reinterpret_cast<const char*>(&length), sizeof length).append(header);
}

TEST(Npy, AHostileHeaderIsAnError) {
  const std::string path = testing::TempDir() + "hostile.npy";
  const std::string long_type = "{'descr': '" + std::string(65'000, 'f') + "', 'fortran_order': False, 'shape': (3,), }";
  const std::string huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }";
  for (const std::string& header : {long_type, huge, std::string("{'descr'"), std::string("{'descr': '<f4', 'shape': (3"), std::string()}) {
    std::ofstream(path, std::ios::binary) << npy_with_header(header);
    EXPECT_THROW(read_npy(path), Error) << header.substr(0, 40);
  }
}

TEST(Npy, WhatItsHeaderSaysIsToldInOneLine) {
  const std::string path = testing::TempDir() + "lines.npy";
  for (const char* header : {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,\nred\x1b[31m,), }",
                             "{'descr': 'a\nb', 'fortran_order': False, 'shape': (3,), }"}) {
    std::ofstream(path, std::ios::binary) << npy_with_header(header);
    try {
      read_npy(path);
      ADD_FAILURE() << "it was read";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find_first_of("\n\x1b"), std::string::npos) << error.what();
    }
  }
}

TEST(Npy, AsASampleItsShapeMustFit) {
  DatasetRequest request = request_for("tests/data/npy/sample.npy", {"x", DataType::f32, Dims{{1, batch_symbol}, {3, ""}, {4, ""}}});
  auto dataset = open_dataset(request);
  dataset->load(std::vector<uint32_t>{0});
  EXPECT_THAT(dataset->sample(0).at(0).shape, ElementsAre(1, 3, 4));
  request.inputs[0].dims->back().size = 5;
  EXPECT_THAT(error_of(request), HasSubstr("it holds float32 [3,4], input 'x' takes float32 [1,3,5]"));
}

TEST(OnnxFolder, SetsComeInTheOrderOfTheirNumbers) {
  const std::string folder = fresh_folder("onnx_sets");
  for (const int number : {0, 2, 10}) {
    const std::string set = folder + "/test_data_set_" + std::to_string(number);
    std::filesystem::create_directories(set);
    Tensor tensor = make_tensor(DataType::f32, {1, 2});
    writable<float>(tensor)[0] = static_cast<float>(number);
    writable<float>(tensor)[1] = 0;
    write_tensor_proto(set + "/input_0.pb", tensor, "x");
  }
  auto dataset = open_dataset(request_for(folder, {"x", DataType::f32, Dims{{1, batch_symbol}, {2, ""}}}));
  ASSERT_EQ(dataset->size(), 3u);
  dataset->load(std::vector<uint32_t>{0, 1, 2});
  EXPECT_EQ(dataset->sample(1).at(0).as<float>()[0], 2.0f);
  EXPECT_EQ(dataset->sample(2).at(0).as<float>()[0], 10.0f);
}

}  // namespace
}  // namespace deepgap
