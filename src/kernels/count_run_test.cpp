#include "kernels/count_run.h"

#include "base/json_fields.h"
#include "kernels/counter_table.h"
#include "kernels/counters_fake.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using cupti::FakeCounters;
using ::testing::HasSubstr;

constexpr const char *read_bytes = "dram__bytes_read.sum", *ffma = "sm__sass_thread_inst_executed_op_ffma_pred_on.sum",
                     *products = "sm__ops_path_tensor_src_fp16.sum", *near = "l1tex__t_bytes.sum";

// Two kernels of which everything is known.
class PlayedWork : public KnownWork {
 public:
  explicit PlayedWork(FakeCounters& fake) : fake_(fake) {}
  void run(const RangeProfiler::Mark& mark) override {
    mark("copy");
    fake_.kernel({{read_bytes, 1000}, {near, 2000}});
    mark("arithmetic");
    fake_.kernel({{ffma, 5000}, {products, 4096}});
  }
  size_t ranges() const override { return 2; }
  std::vector<KnownCount> counts() const override {
    return {{"bytes", "bytes", 0, {read_bytes}, copied, 0.01},
            {"near bytes", "l1", 0, {near}, near_bytes, 0.01},
            {"multiply-adds", "lanes", 1, {ffma}, 5000, 0.01},
            {"products", "tensor", 1, {products, "sm__ops_path_tensor_src_other.sum"}, 4096, 0.01}};
  }
  double copied = 1000, near_bytes = 2000;

 private:
  FakeCounters& fake_;
};

// A network of three kernels in two layers; before them one that gathers its inputs.
class CountedRunTest : public ::testing::Test {
 protected:
  CountedRunTest() {
    for (const MetricGroup& group : counter_groups(90))
      for (const std::string& metric : group.metrics) fake_.chip_has.push_back(metric.substr(0, metric.find('.')));
    trace_.layers = {{"conv1", "Conv"}, {"fc", "Gemm"}};
    const auto kernel = [&](const char* name, int layer, Nanoseconds begin, uint64_t correlation) {
      Kernel made;
      made.name = name;
      made.layer = layer;
      made.begin = begin;
      made.end = begin + 10 * (layer + 2);
      made.correlation = correlation;
      trace_.kernels.push_back(made);
    };
    kernel("gather", -1, 0, 1);
    kernel("gemm", 1, 200, 4);
    kernel("conv", 0, 300, 2);  // another order than that of the launches
    kernel("relu", 0, 400, 3);
    work_.traced = &trace_;
    work_.plain = [&] {
      for (const double bytes : {1.0, 10.0, 20.0, 40.0}) fake_.kernel(counts(bytes));
    };
    work_.layers = [&](const RangeProfiler::Mark& mark) {
      fake_.kernel(counts(1));
      mark("conv1");
      fake_.kernel(counts(10));
      fake_.kernel(counts(20));
      mark("fc");
      fake_.kernel(counts(40));
      return true;
    };
  }
  static FakeCounters::Values counts(double bytes) {
    return {{read_bytes, bytes}, {"dram__bytes_write.sum", 1}, {near, 3 * bytes}, {ffma, 2 * bytes}, {products, 100 * bytes}};
  }
  CountedRun counted() { return count_run(fake_.table(), 0, known_, work_); }

  cuda::FakeDriver driver_;
  cuda::DriverStandIn stand_in_{driver_.table()};
  FakeCounters fake_{driver_};
  PlayedWork known_{fake_};
  Trace trace_;
  WorkToCount work_;
};

TEST_F(CountedRunTest, CountsTheWholeAndEachOfItsKernels) {
  const CountedRun run = counted();
  EXPECT_EQ(run.missing, "");
  EXPECT_TRUE(run.notes.empty());
  EXPECT_EQ(run.chip, "GH100");
  EXPECT_EQ(run.whole.metrics.at(read_bytes), 71);
  EXPECT_EQ(run.whole.metrics.at(products), 7100);
  EXPECT_TRUE(run.by_kernel);
  ASSERT_EQ(run.parts.size(), 4U);
  EXPECT_EQ(run.parts[1].counters.kernel, "conv") << "in the order of the launches";
  EXPECT_EQ(run.parts[1].counters.metrics.at(read_bytes), 10);
  EXPECT_EQ(run.parts[1].counters.metrics.at(ffma), 20);
  EXPECT_EQ(run.parts[1].layer, 0);
  EXPECT_EQ(run.parts[3].counters.kernel, "gemm");
  EXPECT_EQ(run.parts[3].counters.metrics.at(products), 4000);
  EXPECT_DOUBLE_EQ(run.parts[3].counters.traced_seconds, 30e-9);
  EXPECT_EQ(run.whole.metrics.at(near), 213);
  EXPECT_EQ(run.parts[3].counters.metrics.at(near), 120);
  EXPECT_EQ(run.passes, 24) << "four groups, the whole and its parts, three passes each";
  ASSERT_EQ(run.known.size(), 4U);
  EXPECT_EQ(run.known[3].counted, 4096);
  EXPECT_EQ(json_of(json_to<CountedRun>(json_of(run), "run")), json_of(run));
  EXPECT_TRUE(json_to<CountedRun>(json_of(run), "run").known[3].is_right());
}

TEST_F(CountedRunTest, CountsLayersWhereKernelsAreNotToldApart) {
  fake_.refused = {{cupti::range_of_kernel, cupti::replay_of_user}};
  const CountedRun run = counted();
  EXPECT_FALSE(run.by_kernel);
  ASSERT_EQ(run.notes.size(), 1U) << "said once";
  EXPECT_THAT(run.notes[0], HasSubstr("layer by layer, not kernel by kernel: CUPTI says CUPTI_ERROR_SCRIPTED"));
  ASSERT_EQ(run.parts.size(), 2U);
  EXPECT_EQ(run.parts[0].counters.kernel, "conv1");
  EXPECT_EQ(run.parts[0].counters.metrics.at(read_bytes), 30);
  EXPECT_DOUBLE_EQ(run.parts[0].counters.traced_seconds, 40e-9) << "of its two kernels";
  EXPECT_EQ(run.parts[1].counters.metrics.at(products), 4000);
}

TEST_F(CountedRunTest, NeverBelievesAZero) {
  fake_.blind = true;
  const CountedRun run = counted();
  EXPECT_FALSE(run.has_counts());
  EXPECT_THAT(run.missing, HasSubstr("a kernel whose counts are known was counted wrongly: bytes are 1000 and were counted as 0"));
  EXPECT_TRUE(run.whole.metrics.empty());
  EXPECT_TRUE(run.parts.empty());
}

// CUPTI does this with a CUDA graph: operations of threads read zero and no error is reported.
TEST_F(CountedRunTest, TakesTheSumOfTheKernelsWhereTheWholeReadsZero) {
  work_.plain = [&] {
    for (const double bytes : {1.0, 10.0, 20.0, 40.0}) fake_.kernel({{read_bytes, bytes}, {near, 3 * bytes}, {products, 100 * bytes}});
  };
  const CountedRun run = counted();
  EXPECT_EQ(run.whole.metrics.at(ffma), 142);
  EXPECT_EQ(run.whole.metrics.at(products), 7100);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_THAT(run.notes[0], HasSubstr("operations of threads of the whole are the sum of its kernels"));
}

TEST_F(CountedRunTest, LeavesOutZerosThatNoKernelConfirms) {
  trace_.kernels.clear();
  work_.plain = [&] { fake_.kernel({{read_bytes, 71}, {near, 213}, {products, 7100}}); };
  const CountedRun run = counted();
  EXPECT_EQ(run.whole.metrics.at(products), 7100);
  EXPECT_FALSE(run.whole.metrics.contains(ffma));
  EXPECT_THAT(run.notes, ::testing::Contains(HasSubstr("operations of threads were not counted: they are zero for the whole run")));
}

TEST_F(CountedRunTest, LeavesOutAGroupWhoseKnownKernelIsWrong) {
  known_.copied = 2000;
  const CountedRun run = counted();
  EXPECT_TRUE(run.has_counts());
  EXPECT_FALSE(run.whole.metrics.contains(read_bytes));
  EXPECT_EQ(run.whole.metrics.at(products), 7100);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_THAT(run.notes[0], HasSubstr("bytes and how busy the device was were not counted: a kernel whose counts"));
}

// Traffic of first-level caches is a group by itself: where stores, say, were not in it, DRAM's bytes stay.
TEST_F(CountedRunTest, LeavesOutFirstLevelCachesAloneWhereTheirKnownBytesAreWrong) {
  known_.near_bytes = 1000;
  const CountedRun run = counted();
  EXPECT_FALSE(run.whole.metrics.contains(near));
  EXPECT_FALSE(run.parts[0].counters.metrics.contains(near));
  EXPECT_EQ(run.whole.metrics.at(read_bytes), 71);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_THAT(run.notes[0], HasSubstr("bytes of first-level caches were not counted: a kernel whose counts are known was counted wrongly: "
                                      "near bytes are 1000 and were counted as 2000"));
}

TEST_F(CountedRunTest, SaysWhatIsMissingAndHowToGetIt) {
  fake_.fails["cuptiProfilerGetCounterAvailability"] = cupti::insufficient_privileges;
  const CountedRun run = counted();
  EXPECT_THAT(run.missing, HasSubstr("run as root"));
  EXPECT_FALSE(run.has_counts());
  EXPECT_EQ(json_to<CountedRun>(json_of(run), "run").missing, run.missing);
}

TEST_F(CountedRunTest, CountsTheWholeAloneWhereTheWorkIsAnotherThanTheTracedOne) {
  trace_.kernels.pop_back();
  trace_.layers.clear();
  const CountedRun run = counted();
  EXPECT_EQ(run.whole.metrics.at(read_bytes), 71);
  EXPECT_TRUE(run.parts.empty());
  EXPECT_THAT(run.notes, ::testing::Contains(HasSubstr("4 kernels were counted where 3 were traced")));
  EXPECT_THAT(run.notes, ::testing::Contains(HasSubstr("were counted of the whole alone")));
}

TEST_F(CountedRunTest, LetsTheWorksOwnFailureThrough) {
  work_.plain = [] { throw Error(ErrorKind::device_lost, "gone"); };
  EXPECT_THROW(counted(), Error);
  EXPECT_EQ(fake_.enabled, 0);
}

TEST(KernelSums, TakeTracedTimesAndTellReadsFromWrites) {
  KernelCounters kernel;
  kernel.traced_seconds = 2e-6;
  kernel.metrics = {
      {"gpu__time_duration.sum", 5e-6},   {"dram__bytes_op_read.sum", 100},   {"dram__bytes_op_write.sum", 50},
      {"lts__t_sectors_op_read.sum", 10}, {"lts__t_sectors_op_write.sum", 2}, {"l1tex__t_bytes.sum", 4096},
      {"sm__cycles_active.avg", 50},      {"sm__cycles_elapsed.max", 100},    {"sm__warps_active.avg.pct_of_peak_sustained_active", 0.25}};
  KernelCounters other = kernel;
  other.metrics["sm__cycles_active.avg"] = 150;
  other.metrics["sm__cycles_elapsed.max"] = 300;
  other.metrics["sm__warps_active.avg.pct_of_peak_sustained_active"] = 0.75;
  const KernelSums sums = sums_of({kernel, other});
  EXPECT_DOUBLE_EQ(sums.seconds, 4e-6);
  EXPECT_EQ(sums.dram_bytes, 300);
  EXPECT_EQ(sums.dram_read_bytes, 200);
  EXPECT_EQ(sums.l2_read_bytes, 640);
  EXPECT_EQ(sums.l2_written_bytes, 128);
  EXPECT_EQ(sums.l2_bytes, 768);
  EXPECT_EQ(sums.l1_bytes, 8192);
  EXPECT_TRUE(sums.has_l1());
  other.metrics.erase("l1tex__t_bytes.sum");
  EXPECT_FALSE(sums_of({kernel, other}).has_l1()) << "of one alone";
  EXPECT_DOUBLE_EQ(sums.busy(), 0.5);
  EXPECT_DOUBLE_EQ(sums.occupancy(), 0.625) << "by the cycles in which there was work";
}

}  // namespace
}  // namespace deepgap
