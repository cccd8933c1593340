// Crops of the test's own pictures: DEEPGAP_DATA/pictures is the only place they are cut from, so a folder of that layout is made.
#include "dataset/open_dataset.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Crops : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "pictures");
    for (const char* name : {"waves.png", "waves.jpg"}) {
      fs::copy_file(fs::path("tests/data/pictures") / name, folder_ / "pictures" / name, fs::copy_options::overwrite_existing);
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  DatasetRequest request(const std::string& name) const {
    DatasetRequest request;
    request.name = name;
    request.inputs = {{"input", DataType::f32, Dims{{1, batch_symbol}, {3, ""}, {16, ""}, {16, ""}}}};
    request.data_dir = folder_.string();
    return request;
  }
  std::vector<float> sample(const std::string& name, uint32_t index) const {
    const auto dataset = open_dataset(request(name));
    dataset->load(std::vector<uint32_t>{index});
    const auto values = dataset->sample(index)[0].as<float>();
    return {values.begin(), values.end()};
  }

  fs::path folder_ = fs::temp_directory_path() / ("deepgap-crops-" + std::to_string(::getpid()));
};

TEST_F(Crops, SeedAndIndexDecide) {
  EXPECT_EQ(sample("crops", 5), sample("crops:seed=1,count=1000", 5));
  EXPECT_NE(sample("crops", 5), sample("crops:seed=2", 5));
  EXPECT_NE(sample("crops", 5), sample("crops", 7));
}

TEST_F(Crops, ThereAreAsManyAsAsked) {
  const auto dataset = open_dataset(request("crops:count=1000"));
  EXPECT_EQ(dataset->size(), 1000U);
  EXPECT_THAT(dataset->describe(), HasSubstr("crops of 2 images, seed 1, sides 0.35 to 1"));
  EXPECT_EQ(dataset->sample_name(3), "waves.png #3");
}

TEST_F(Crops, WrongOptionsAreNamed) {
  const auto refusal = [&](const std::string& name) -> std::string {
    try {
      open_dataset(request(name));
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(refusal("crops:sed=1"), "unknown option of crops 'sed', did you mean 'seed'?");
  EXPECT_EQ(refusal("crops:count=0"), "crops: count='0' is not a whole number from 1");
  EXPECT_EQ(refusal("crops:count"), "crops: count='' is not a whole number from 1");
  fs::remove_all(folder_);
  EXPECT_THAT(refusal("crops"), HasSubstr("which are not at"));
}

}  // namespace
}  // namespace deepgap
