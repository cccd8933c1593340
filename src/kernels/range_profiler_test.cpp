#include "kernels/range_profiler.h"

#include "kernels/counter_host.h"
#include "kernels/counter_table.h"
#include "kernels/counters_fake.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#define DEEPGAP_HAS_CUPTI 1
#endif

#include <cstddef>

namespace deepgap {
namespace {

using namespace cupti;
using ::testing::HasSubstr;

#ifdef DEEPGAP_HAS_CUPTI
#define SAME(ours, our_field, theirs, their_field) \
  EXPECT_EQ(offsetof(ours, our_field), offsetof(theirs, their_field)) << #ours << "::" << #our_field

TEST(RangeProfilerParams, AreThoseOfTheHeaders) {
  EXPECT_EQ(AddMetrics{}.size, CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
  EXPECT_EQ(ConfigImageSize{}.size, CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
  EXPECT_EQ(ConfigImage{}.size, CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
  EXPECT_EQ(PassCount{}.size, CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
  SAME(PassCount, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
  EXPECT_EQ(Evaluate{}.size, CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
  SAME(Evaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
  SAME(Evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
  SAME(Evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
  EXPECT_EQ(ProfilerStart{}.size, CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  EXPECT_EQ(ProfilerStart{}.size, CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE);
  EXPECT_EQ(ChipName{}.size, CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  SAME(ChipName, name, CUpti_Device_GetChipName_Params, pChipName);
  EXPECT_EQ(CounterAvailability{}.size, CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
  SAME(CounterAvailability, bytes, CUpti_Profiler_GetCounterAvailability_Params, counterAvailabilityImageSize);
}

TEST(RangeProfilerParams, OfTheDeviceAreThoseOfTheHeaders) {
  EXPECT_EQ(RangeEnable{}.size, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
  SAME(RangeEnable, profiler, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
  EXPECT_EQ(RangeHandle{}.size, CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
  EXPECT_EQ(RangeHandle{}.size, CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  EXPECT_EQ(RangeHandle{}.size, CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
  EXPECT_EQ(RangeConfig{}.size, CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
  SAME(RangeConfig, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
  SAME(RangeConfig, range, CUpti_RangeProfiler_SetConfig_Params, range);
  SAME(RangeConfig, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
  SAME(RangeConfig, most_ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
  SAME(RangeConfig, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
  SAME(RangeConfig, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
  SAME(RangeConfig, target_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
  EXPECT_EQ(RangeStop{}.size, CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  SAME(RangeStop, is_all, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
  EXPECT_EQ(RangePush{}.size, CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
  EXPECT_EQ(RangeDecode{}.size, CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  EXPECT_EQ(CounterDataSize{}.size, CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  SAME(CounterDataSize, most_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
  EXPECT_EQ(CounterDataStart{}.size, CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  EXPECT_EQ(CounterDataInfo{}.size, CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
  EXPECT_EQ(RangeInfo{}.size, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE);
  SAME(RangeInfo, range, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeIndex);
  EXPECT_EQ(range_of_kernel, CUPTI_AutoRange);
  EXPECT_EQ(range_of_user, CUPTI_UserRange);
  EXPECT_EQ(replay_of_kernel, CUPTI_KernelReplay);
  EXPECT_EQ(replay_of_user, CUPTI_UserReplay);
  EXPECT_EQ(hardware_busy, CUPTI_ERROR_HARDWARE_BUSY);
  EXPECT_EQ(virtual_insufficient_privileges, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
}
#endif

class RangeProfilerTest : public ::testing::Test {
 protected:
  std::string refusal(const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused);
      return error.what();
    }
    return "taken";
  }
  Counted counted(RangeOf of, size_t most, const RangeProfiler::Work& work) {
    RangeProfiler profiler(fake_.table(), 0);
    return profiler.count({"a.sum", "b.pct"}, of, ReplayBy::caller, most, work);
  }

  cuda::FakeDriver driver_;
  cuda::DriverStandIn stand_in_{driver_.table()};
  FakeCounters fake_{driver_};
};

TEST_F(RangeProfilerTest, CountsWhatLiesBetweenMarksInAsManyPassesAsAreWanted) {
  int runs = 0;
  const Counted counts = counted(RangeOf::marks, 8, [&](const RangeProfiler::Mark& mark) {
    ++runs;
    mark("conv");
    fake_.kernel({{"a.sum", 3}, {"b.pct", 50}});
    fake_.kernel({{"a.sum", 4}});
    mark("conv");  // another range of the same name
    fake_.kernel({{"a.sum", 5}});
  });
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(counts.passes, 3);
  ASSERT_EQ(counts.ranges.size(), 2U);
  EXPECT_EQ(counts.ranges[0].name, "conv");
  EXPECT_EQ(counts.ranges[0].values.at("a.sum"), 7) << "the device was waited for before the range ended";
  EXPECT_EQ(counts.ranges[0].values.at("b.pct"), 0.5) << "percent are fractions";
  EXPECT_EQ(counts.ranges[1].values.at("a.sum"), 5);
  EXPECT_EQ(fake_.enabled, 0) << "nothing is left on";
  EXPECT_EQ(fake_.started, 0);
}

TEST_F(RangeProfilerTest, PutsBackWhatTheWorkChangesAheadOfEachPass) {
  RangeProfiler profiler(fake_.table(), 0);
  int weights = 7, runs = 0;
  const auto step = [&](const RangeProfiler::Mark& mark) {
    mark("step");
    fake_.kernel({{"a.sum", weights}});
    weights *= 2;
    ++runs;
  };
  const auto before = [&] {
    weights = 1;
    fake_.kernel({{"a.sum", 1000}});
  };
  const Counted counts = profiler.count({"a.sum"}, RangeOf::kernels, ReplayBy::caller, 8, step, before);
  EXPECT_EQ(runs, 3);
  ASSERT_EQ(counts.ranges.size(), 1U) << "putting it back is not counted";
  EXPECT_EQ(counts.ranges[0].values.at("a.sum"), 1);
}

TEST_F(RangeProfilerTest, CountsEachKernelByItself) {
  const Counted counts = counted(RangeOf::kernels, 16, [&](const RangeProfiler::Mark& mark) {
    mark("not asked for");
    for (int i = 0; i < 12; ++i) fake_.kernel({{"a.sum", i}});
  });
  ASSERT_EQ(counts.ranges.size(), 12U);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(counts.ranges[i].values.at("a.sum"), static_cast<double>(i)) << "in the order of the launches";
}

TEST_F(RangeProfilerTest, SaysHowToBeAllowed) {
  fake_.fails["cuptiProfilerGetCounterAvailability"] = insufficient_privileges;
  const std::string said = refusal([&] { RangeProfiler(fake_.table(), 0); });
  EXPECT_THAT(said, HasSubstr("asking which counters may be read"));
  EXPECT_THAT(said, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST_F(RangeProfilerTest, LeavesNothingOnWhenSomethingFails) {
  const auto work = [&](const RangeProfiler::Mark& mark) { mark("a"); };
  for (const char* function :
       {"cuptiRangeProfilerStart", "cuptiRangeProfilerPushRange", "cuptiRangeProfilerPopRange", "cuptiRangeProfilerStop",
        "cuptiRangeProfilerDecodeData", "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerGetCounterDataSize"}) {
    fake_.fails = {{function, hardware_busy}};
    EXPECT_THAT(refusal([&] { counted(RangeOf::marks, 8, work); }), HasSubstr("another program is counting")) << function;
    EXPECT_EQ(fake_.enabled, 0) << function;
  }
  fake_.fails.clear();
  fake_.started = 0;  // forgets the pass that could not be ended
  EXPECT_THROW(counted(RangeOf::marks, 8, [](const RangeProfiler::Mark& mark) { mark("a"), throw Error(ErrorKind::internal, "broken"); }),
               Error);
  EXPECT_EQ(fake_.enabled, 0);
  EXPECT_EQ(fake_.started, 0);
}

TEST_F(RangeProfilerTest, RefusesWorkThatIsAnotherEachTimeAndRangesThatDidNotFit) {
  int runs = 0;
  EXPECT_THAT(refusal([&] { counted(RangeOf::marks, 8, [&](const RangeProfiler::Mark& mark) { mark(std::to_string(runs++)); }); }),
              HasSubstr("another when it was done again"));
  EXPECT_THAT(refusal([&] {
                counted(RangeOf::marks, 2, [&](const RangeProfiler::Mark& mark) {
                  for (const char* name : {"a", "b", "c"}) mark(name);
                });
              }),
              HasSubstr("1 of the ranges did not fit"));
}

TEST_F(RangeProfilerTest, RefusesAnOlderCupti) {
  Api old = fake_.table();
  old.path = "/lib/libcupti.so.12";
  old.cuptiRangeProfilerEnable = nullptr;
  EXPECT_THAT(refusal([&] { RangeProfiler(old, 0); }), HasSubstr("has no cuptiRangeProfilerEnable: that of CUDA 12.6"));
}

// A chip's counters can be listed without a GPU.
class CounterTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef DEEPGAP_SANITIZED
    GTEST_SKIP()
        << "left out under AddressSanitizer: NVIDIA's library opens another with RTLD_DEEPBIND, under which the sanitizer ends the process";
#endif
    try {
      library_ = &api();
      require_range_profiler(*library_);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  const Api* library_ = nullptr;
};

TEST_F(CounterTableTest, HasForEveryFamilyWhatItsChipCounts) {
  const std::pair<int, const char*> chips[] = {{70, "GV100"}, {75, "TU104"}, {80, "GA100"},  {86, "GA102"},
                                               {89, "AD104"}, {90, "GH100"}, {100, "GB100"}, {120, "GB202"}};
  for (const auto& [architecture, chip] : chips) {
    const auto wanted = counter_groups(architecture), has = counter_groups_of(architecture, supported_metrics(*library_, chip));
    ASSERT_EQ(has.size(), wanted.size()) << chip;
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(has[i].metrics, wanted[i].metrics) << chip << " " << wanted[i].what;
    for (const MetricGroup& group : wanted) {
      const CounterSetup setup = CounterHost(*library_, chip).setup(group.metrics);
      EXPECT_GE(setup.passes, 1U) << chip << " " << group.what;
      EXPECT_LE(setup.passes, 16U) << chip << " " << group.what;
      EXPECT_FALSE(setup.image.empty());
    }
  }
}

TEST_F(CounterTableTest, LeavesOutWhatAChipHasNot) {
  const auto groups = counter_groups_of(75, supported_metrics(*library_, "TU116"));
  ASSERT_EQ(groups.size(), 3U) << "GeForce 16 cards have no tensor cores";
  EXPECT_EQ(groups[1].what, "l1");
  EXPECT_EQ(groups[2].what, "lanes");
}

TEST_F(CounterTableTest, TellsAMetricThatAChipHasNot) {
  try {
    CounterHost(*library_, "GH100").setup({"dram__bytes_read.sum", "dram__dreams.sum"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
  }
  EXPECT_THROW(CounterHost(*library_, "XY100"), Error);
}

TEST(CounterTable, OfAnUnknownChipIsToldByName) {
  EXPECT_TRUE(counter_groups(130).empty());
  const auto groups = counter_groups_of(130, {"dram__bytes_read", "dram__bytes_write", "l1tex__t_bytes", "sm__ops_path_tensor_src_fp16"});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].what, "bytes");
  EXPECT_EQ(groups[1].what, "l1");
  EXPECT_EQ(groups[2].what, "tensor");
}

}  // namespace
}  // namespace deepgap
