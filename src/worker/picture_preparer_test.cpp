#include "worker/picture_preparer.h"

#include "base/clocks.h"
#include "dataset/open_dataset.h"
#include "scenario/end_to_end_target.h"
#include "scenario/test_drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

constexpr size_t elements = size_t{3} * 16 * 16;

DatasetRequest request(const std::string& name) {
  DatasetRequest request;
  request.name = name;
  request.inputs = {{"input", DataType::f32, Dims{{1, batch_symbol}, {3, ""}, {16, ""}, {16, ""}}}};
  request.data_dir = "tests/data";  // holds pictures/
  return request;
}

// Collects what is prepared.
class Reports {
 public:
  explicit Reports(PicturePreparer& preparer) {
    preparer.on_prepared([this](const PreparedSample& sample) {
      const std::lock_guard lock(mutex_);
      samples_[sample.tag] = sample;
      arrived_.notify_all();
    });
  }
  std::map<uint64_t, PreparedSample> wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return samples_.size() >= count; });
    return samples_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<uint64_t, PreparedSample> samples_;
};

// Every stage by itself gives what the Dataset's load() gives, to the last bit.
TEST(PicturePreparer, MakesTheInputsThatTheDatasetLoads) {
  const auto clock = make_real_clock();
  for (const char* name : {"tests/data/pictures/waves.jpg", "tests/data/pictures/waves.png"}) {
    const auto dataset = open_dataset(request(name));
    dataset->load(std::vector<uint32_t>{0});
    std::vector<float> input(elements);
    PicturePreparer preparer(*picture_source(*dataset), 1, *clock);
    Reports reports(preparer);
    preparer.prepare(0, std::as_writable_bytes(std::span(input)), 7);
    const PreparedSample sample = reports.wait_for(1).at(7);
    EXPECT_EQ(sample.failure, "");
    EXPECT_LT(sample.begin, sample.read);
    EXPECT_LT(sample.read, sample.decoded);
    EXPECT_LT(sample.decoded, sample.end);
    const auto expected = dataset->sample(0)[0].as<float>();
    EXPECT_TRUE(std::equal(input.begin(), input.end(), expected.begin(), expected.end())) << name;
  }
}

TEST(PicturePreparer, ThreadsShareTheWorkAndWithdrawGivesUpTheRest) {
  const auto clock = make_real_clock();
  const auto dataset = open_dataset(request("tests/data/pictures/waves.png"));
  std::vector<float> inputs(64 * elements);
  PicturePreparer preparer(*picture_source(*dataset), 3, *clock);
  Reports reports(preparer);
  for (uint64_t tag = 0; tag < 64; ++tag) {
    preparer.prepare(0, std::as_writable_bytes(std::span(inputs).subspan(tag * elements, elements)), tag);
  }
  preparer.withdraw();
  for (const auto& [tag, sample] : reports.wait_for(64)) {
    EXPECT_THAT(sample.failure, ::testing::AnyOf("", "given up")) << tag;
  }
}

TEST(PicturePreparer, AFileThatIsNoPictureAnyMoreIsNamed) {
  const auto clock = make_real_clock();
  const auto dataset = open_dataset(request("tests/data/pictures/cmyk.jpg"));
  std::vector<float> input(elements);
  PicturePreparer preparer(*picture_source(*dataset), 1, *clock);
  Reports reports(preparer);
  preparer.prepare(0, std::as_writable_bytes(std::span(input)), 1);
  EXPECT_THAT(reports.wait_for(1).at(1).failure, HasSubstr("cmyk.jpg"));
}

TEST(PicturePreparer, OnlyPicturesHaveFiles) {
  EXPECT_EQ(picture_source(*open_dataset(request("seeded"))), nullptr);
  EXPECT_NE(picture_source(*open_dataset(request("crops"))), nullptr);
  EXPECT_NE(picture_source(*open_dataset(request("tests/data/pictures"))), nullptr);
}

}  // namespace
}  // namespace deepgap
