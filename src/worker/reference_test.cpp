#include "worker/reference.h"

#include "base/file.h"
#include "base/test_model.h"
#include "dataset/open_dataset.h"
#include "model/model_source.h"
#include "worker/order.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

// y = 2 x for three numbers; stands for any network.
class DoublingModel final : public TestModel {
 public:
  explicit DoublingModel(const std::string& op = "Mul", int64_t fixed_batch = 0) {
    graph_.name = "doubling";
    const Dim batch = fixed_batch == 0 ? Dim{1, batch_symbol} : Dim{fixed_batch, ""};
    graph_.values = {
        {"x", DataType::f32, Dims{batch, Dim{3, ""}}}, {"two", DataType::f32, Dims{}}, {"y", DataType::f32, Dims{batch, Dim{3, ""}}}};
    Tensor two = make_tensor(DataType::f32, {});
    writable<float>(two)[0] = 2;
    graph_.constants[1] = two;
    graph_.nodes = {{"double", op, "", {0, 1}, {2}, {}}};
    graph_.inputs = {0};
    graph_.outputs = {2};
    summary_.name = "doubling";
    summary_.inputs = {{"x", DataType::f32, graph_.values[0].dims}};
    summary_.content_hash = "hash";
  }
};

class CountingDataset final : public Dataset {
 public:
  explicit CountingDataset(float first = 0) {
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = first + static_cast<float>(i);
  }
  std::string describe() const override { return "counting"; }
  size_t size() const override { return 2; }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  std::vector<TensorView> sample(uint32_t index) const override {
    return {{DataType::f32, shape_, reinterpret_cast<const std::byte*>(values_.data() + 3 * index)}};
  }

 private:
  std::array<float, 6> values_{};
  std::array<int64_t, 2> shape_{1, 3};
};

constexpr std::array<uint32_t, 2> both{0, 1};
constexpr Batching open_batch{Batching::Kind::open, 1};

Tensor batch_of(const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, {static_cast<int64_t>(values.size() / 3), 3});
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

class ReferenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cache = ::testing::TempDir() + "deepgap-reference-test";
    std::filesystem::remove_all(cache);
  }
  void TearDown() override { std::filesystem::remove_all(cache); }
  std::optional<CheckResult> compare(const std::vector<float>& outputs) const {
    const Tensor tensor = batch_of(outputs);
    const TensorView view = tensor.view();
    return compare_batch(reference, std::span(&view, 1), tensor.shape[0], open_batch, Precision::fp32);
  }
  std::string cache;
  DoublingModel model;
  CountingDataset dataset;
  Reference reference = make_reference(model, dataset, both, "native");
};

TEST_F(ReferenceTest, is_what_the_model_answers) {
  EXPECT_EQ(reference.against, "native fp32 reference");
  ASSERT_EQ(reference.outputs.size(), 2U);
  EXPECT_EQ(reference.outputs[1][0].as<float>()[0], 6);
  EXPECT_EQ(reference.outputs[1][0].shape, (Shape{1, 3}));
}

TEST_F(ReferenceTest, output_i_equals_reference_i_mod_r_at_every_batch_size) {
  EXPECT_TRUE(compare({0, 2, 4})->pass);
  EXPECT_TRUE(compare({0, 2, 4, 6, 8, 10})->pass);
  EXPECT_TRUE(compare({0, 2, 4, 6, 8, 10, 0, 2, 4})->pass);
  EXPECT_FALSE(compare({0, 2, 4, 0, 2, 4})->pass) << "item 1 answered sample 0";
  EXPECT_FALSE(compare({6, 8, 10, 0, 2, 4})->pass) << "items swapped";
  EXPECT_EQ(compare({0, 2, 4, 6, 8, 10, 0, 2, 4})->samples, 3);
}

TEST_F(ReferenceTest, another_number_of_outputs_or_shape_is_an_error) {
  EXPECT_THROW(compare_batch(reference, {}, 1, open_batch, Precision::fp32), Error);
  const Tensor wide = make_tensor(DataType::f32, {1, 4});
  const TensorView view = wide.view();
  EXPECT_THROW(compare_batch(reference, std::span(&view, 1), 1, open_batch, Precision::fp32), Error);
}

TEST_F(ReferenceTest, outputs_without_batch_cannot_be_told_apart) {
  const Tensor sum = make_tensor(DataType::f32, {1});
  const TensorView view = sum.view();
  EXPECT_FALSE(compare_batch(reference, std::span(&view, 1), 2, open_batch, Precision::fp32));
}

TEST_F(ReferenceTest, comes_back_from_the_cache_as_it_was) {
  const std::string key = reference_key(model, dataset, both);
  EXPECT_FALSE(find_reference(cache, key, "native"));
  keep_reference(cache, key, reference);
  const auto found = find_reference(cache, key, "native");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->against, reference.against);
  ASSERT_EQ(found->outputs.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found->outputs[i][0].shape, reference.outputs[i][0].shape);
    EXPECT_EQ(std::memcmp(found->outputs[i][0].data.get(), reference.outputs[i][0].data.get(), 12), 0);
  }
  EXPECT_FALSE(find_reference("", key, "native")) << "without a folder nothing is kept";
  keep_reference("", key, reference);
}

TEST_F(ReferenceTest, made_by_an_engine_is_none_for_it) {
  const std::string key = reference_key(model, dataset, both);
  reference.against = "onnxruntime";
  keep_reference(cache, key, reference);
  EXPECT_FALSE(find_reference(cache, key, "onnxruntime"));
  ASSERT_TRUE(find_reference(cache, key, "native"));
  EXPECT_EQ(find_reference(cache, key, "native")->against, "onnxruntime");
}

TEST_F(ReferenceTest, a_damaged_file_counts_as_none) {
  const std::string key = reference_key(model, dataset, both);
  keep_reference(cache, key, reference);
  for (const auto& entry : std::filesystem::directory_iterator(cache + "/references")) {
    std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) - 3);
  }
  EXPECT_FALSE(find_reference(cache, key, "native"));
  keep_reference(cache, key, reference);
  EXPECT_TRUE(find_reference(cache, key, "native"));
}

TEST_F(ReferenceTest, a_file_with_fewer_outputs_for_a_sample_counts_as_none) {
  const std::string key = reference_key(model, dataset, both);
  Reference short_one = reference;
  short_one.outputs[0].push_back(short_one.outputs[0][0]);
  keep_reference(cache, key, short_one);
  EXPECT_FALSE(find_reference(cache, key, "native"));
}

TEST_F(ReferenceTest, a_file_of_another_user_counts_as_none) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make one";
  const std::string key = reference_key(model, dataset, both);
  keep_reference(cache, key, reference);
  for (const auto& entry : std::filesystem::directory_iterator(cache + "/references"))
    ASSERT_EQ(::chown(entry.path().c_str(), 12345, 12345), 0);
  EXPECT_FALSE(find_reference(cache, key, "native"));
}

TEST_F(ReferenceTest, key_is_the_content) {
  CountingDataset other(1);
  const std::string key = reference_key(model, dataset, both);
  EXPECT_EQ(reference_key(model, dataset, both), key);
  EXPECT_NE(reference_key(model, other, both), key);
  EXPECT_NE(reference_key(model, dataset, std::span(both).first(1)), key);
}

TEST_F(ReferenceTest, of_a_fixed_batch_is_one_query_of_the_samples_in_turn) {
  const DoublingModel fixed("Mul", 3);
  reference = make_reference(fixed, dataset, both, "native");
  ASSERT_EQ(reference.outputs.size(), 1U);
  EXPECT_EQ(reference.outputs[0][0].shape, (Shape{3, 3}));
  const auto compare_whole = [&](const std::vector<float>& outputs) {
    const Tensor tensor = batch_of(outputs);
    const TensorView view = tensor.view();
    return compare_batch(reference, std::span(&view, 1), 3, {Batching::Kind::fixed, 3}, Precision::fp32);
  };
  EXPECT_TRUE(compare_whole({0, 2, 4, 6, 8, 10, 0, 2, 4})->pass);
  EXPECT_EQ(compare_whole({0, 2, 4, 6, 8, 10, 0, 2, 4})->samples, 3);
  EXPECT_FALSE(compare_whole({0, 2, 4, 6, 8, 10, 6, 8, 10})->pass);
}

TEST_F(ReferenceTest, what_nothing_can_run_is_refused_with_both_reasons) {
#ifdef DEEPGAP_SANITIZED
  GTEST_SKIP() << "every engine is asked, OpenVINO too, and AddressSanitizer ends a process that loads it";
#endif
  const DoublingModel unknown("NoSuchOperator");
  try {
    make_reference(unknown, dataset, both, "native");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_NE(std::string(error.what()).find("NoSuchOperator"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("onnxruntime"), std::string::npos) << error.what();
  }
  try {
    make_reference(unknown, dataset, both, "onnxruntime");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("onnxruntime is not a reference for itself"), std::string::npos) << error.what();
  }
}

TEST(WorkOrder, travels_as_json) {
  WorkOrder order;
  order.point.model = "resnet18";
  order.point.options["latency"] = "1ms";
  order.repeat = 3;
  order.stopping.iterations = 7;
  order.check = false;
  order.reference_unavailable = "why";
  const WorkOrder back = order_from_json(nlohmann::json::parse(order_to_json(order).dump()));
  EXPECT_EQ(back.point, order.point);
  EXPECT_EQ(back.repeat, 3);
  EXPECT_EQ(back.stopping, order.stopping);
  EXPECT_FALSE(back.check);
  EXPECT_EQ(back.reference_unavailable, "why");
  EXPECT_THROW(order_from_json({{"point", 1}}), Error);
}

TEST(WorkOrder, a_failure_is_one_line) {
  Record record = begin_record({});
  EXPECT_EQ(record.record_id.size(), 32U);
  EXPECT_GT(record.started_unix_ns, 1'600'000'000'000'000'000);
  fail_record(record, Outcome::crashed, "first\nsecond\n");
  EXPECT_EQ(record.reason, "first second");
  EXPECT_EQ(outcome_of(ErrorKind::out_of_memory), Outcome::out_of_memory);
  EXPECT_EQ(outcome_of(ErrorKind::internal), Outcome::crashed);
}

}  // namespace
}  // namespace deepgap
