// An MLPerf run with the scripted null backend in virtual time, and the answers that the accuracy log has.
#include "mlperf/driver.h"

#include "worker/measure.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>

namespace deepgap {
namespace {

TensorView view_of(const std::vector<float>& values, const Shape& shape) {
  return {DataType::f32, shape, reinterpret_cast<const std::byte*>(values.data())};
}

TEST(MlperfAnswer, OfAClassifierIsTheBestClassAsAFloat) {
  const std::vector<float> scores{0, 1, 0.5F, 9, 2, 8};
  const Shape shape{2, 3};
  const TensorView view = view_of(scores, shape);
  const auto answer = [&](size_t row) {
    const std::string bytes = mlperf_answer(std::span(&view, 1), row);
    float value = -1;
    EXPECT_EQ(bytes.size(), sizeof(value));
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  };
  EXPECT_EQ(answer(0), 1.0F);
  EXPECT_EQ(answer(1), 0.0F);
}

TEST(MlperfAnswer, OfOtherModelsIsTheOutputItself) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
  const Shape shape{2, 2, 2};
  const TensorView view = view_of(values, shape);
  const std::string bytes = mlperf_answer(std::span(&view, 1), 1);
  ASSERT_EQ(bytes.size(), 16U);
  EXPECT_EQ(std::memcmp(bytes.data(), values.data() + 4, 16), 0);
  EXPECT_EQ(mlperf_answer({}, 0), "");
}

// A worker that has no company.
struct Alone final : Turns {
  nlohmann::json meet(const nlohmann::json& /*payload*/) override { return {}; }
  void take_turns(const nlohmann::json& /*ready*/, const std::function<Frame(const nlohmann::json&)>& /*take*/) override {}
};

TEST(MlperfDriver, IsMeasuredLikeAnyOtherWork) {
  WorkOrder order;
  order.point.model = "mobilenet_v1:width=0.125,classes=10,image=32";
  order.point.backend = "null";
  order.point.threads = 1;
  order.point.scenario = "single-stream";
  order.point.options = {
      {"mlperf", "v6.0"},      {"mlperf_samples", "8"},   {"mlperf_min_duration", "100"}, {"mlperf_min_query_count", "5"},
      {"null.latency", "2ms"}, {"null.clock", "virtual"}, {"telemetry_period", "1h"}};
  order.stopping.name = "counts";
  order.stopping.iterations = 20;
  order.stopping.warmup = 3;
  Heartbeat heartbeat([](const Frame&) {}, {std::chrono::hours(1), std::chrono::hours(1)});
  Group group(heartbeat, {"1.0", "clean"});
  Alone alone;
  const std::atomic<bool> interrupted{false};
  const auto record = measure(order, group, heartbeat, alone, interrupted);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->outcome, Outcome::ok) << record->reason;
  EXPECT_EQ(std::get<std::string>(record->facts.at("mlperf.mode")), "PerformanceOnly");
  EXPECT_EQ(record->warmup_queries, 3) << "by the scenario that warms up";
  EXPECT_GE(record->timings.size(), 5U);
  EXPECT_EQ(record->windows.back().name, "steady");
  EXPECT_EQ(record->windows.back().end, record->timings.back().end);
  EXPECT_EQ(record->estimates.count("compute_ms"), 1U);
}

}  // namespace
}  // namespace deepgap
