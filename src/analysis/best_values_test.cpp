#include "analysis/best_values.h"

#include "analysis/finding_rig.h"
#include "analysis/metric.h"
#include "record/task_traits.h"

namespace deepgap {
namespace {

using ::testing::DoubleNear;
using ::testing::IsEmpty;

TEST(BestValues, are_of_each_metric_in_its_better_direction) {
  ResultsCollector collector;
  add(collector, {.batch = 8, .throughputs = {120, 121, 122}, .metrics = {{"energy_j_per_item", 0.5}}});
  add(collector, {.backend = "onnxruntime", .batch = 1, .throughputs = {60, 60, 61}, .metrics = {{"energy_j_per_item", 0.2}}});
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  const auto values = best_values(workloads.at(0));
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].metric, "throughput");
  EXPECT_EQ(values[0].point->point.batch, 8);
  EXPECT_EQ(values[1].metric, "latency_p50_ms");
  EXPECT_EQ(values[1].point->point.backend, "onnxruntime");
  EXPECT_EQ(values[2].metric, "energy_j_per_item");
  EXPECT_THAT(values[2].value.value, DoubleNear(0.2, 1e-9));
}

TEST(BestValues, of_generation_are_of_tokens) {
  ResultsCollector collector;
  const std::map<std::string, double> tokens{{"output_tokens_per_s", 46.7}, {"ttft_p50_ms", 200}, {"tpot_ms", 20}};
  add(collector, {.throughputs = {0.36, 0.365, 0.37}, .metrics = tokens, .task = Task::generate});
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  std::vector<std::string> metrics;
  for (const BestValue& value : best_values(workloads.at(0))) metrics.push_back(value.metric);
  EXPECT_THAT(metrics, ::testing::ElementsAre("output_tokens_per_s", "ttft_p50_ms", "tpot_ms"));
  EXPECT_THAT(find("best_engine", collector).at(0).headline, ::testing::HasSubstr(": 46.7 tokens/s with native"));
}

TEST(BestValues, of_every_task_are_known_metrics) {
  for (const Task task : all_tasks) {
    const TaskTraits& traits = task_traits(task);
    std::vector<const char*> metrics{traits.rate.metric, traits.energy, traits.cost};
    for (const auto& [metric, name] : traits.times) metrics.push_back(metric);
    for (const char* metric : metrics) EXPECT_NE(find_metric(metric), nullptr) << name_of(task) << ": " << metric;
  }
}

TEST(BestValues, leave_out_what_failed) {
  ResultsCollector collector;
  collector.add(failed(Outcome::crashed, "signal 11"));
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  for (const Workload& workload : workloads) EXPECT_THAT(best_values(workload), IsEmpty());
}

}  // namespace
}  // namespace deepgap
