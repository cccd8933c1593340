// Our declarations against CUPTI's own headers, where a toolkit or NVIDIA's packages have them.
#include "kernels/cupti_api.h"

#include "kernels/chip_metrics.h"
#include "kernels/profiler_params.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#if __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cupti.h>
#include <cupti_profiler_host.h>
#define DEEPGAP_HAS_CUPTI 1
#endif

#include <cstddef>
#include <cstdlib>

namespace deepgap::cupti {
namespace {

#ifdef DEEPGAP_HAS_CUPTI
#define SAME(ours, our_field, theirs, their_field) \
  EXPECT_EQ(offsetof(ours, our_field), offsetof(theirs, their_field)) << #ours << "::" << #our_field

TEST(CuptiApi, RecordsAreThoseOfTheHeaders) {
  SAME(KernelRecord, registers, CUpti_ActivityKernel9, registersPerThread);
  SAME(KernelRecord, start, CUpti_ActivityKernel9, start);
  SAME(KernelRecord, stream, CUpti_ActivityKernel9, streamId);
  SAME(KernelRecord, grid_x, CUpti_ActivityKernel9, gridX);
  SAME(KernelRecord, block_z, CUpti_ActivityKernel9, blockZ);
  SAME(KernelRecord, dynamic_shared, CUpti_ActivityKernel9, dynamicSharedMemory);
  SAME(KernelRecord, correlation, CUpti_ActivityKernel9, correlationId);
  SAME(KernelRecord, name, CUpti_ActivityKernel9, name);
  SAME(KernelRecord, graph_node, CUpti_ActivityKernel9, graphNodeId);
  SAME(KernelRecord, graph, CUpti_ActivityKernel9, graphId);
  SAME(CopyRecord, bytes, CUpti_ActivityMemcpy5, bytes);
  SAME(CopyRecord, correlation, CUpti_ActivityMemcpy5, correlationId);
  SAME(CopyRecord, graph_node, CUpti_ActivityMemcpy5, graphNodeId);
  SAME(FillRecord, bytes, CUpti_ActivityMemset4, bytes);
  SAME(FillRecord, correlation, CUpti_ActivityMemset4, correlationId);
  SAME(FillRecord, graph_node, CUpti_ActivityMemset4, graphNodeId);
  EXPECT_EQ(sizeof(CallRecord), sizeof(CUpti_ActivityAPI));
  SAME(CallRecord, correlation, CUpti_ActivityAPI, correlationId);
  EXPECT_EQ(sizeof(ExternalRecord), sizeof(CUpti_ActivityExternalCorrelation));
  SAME(ExternalRecord, correlation, CUpti_ActivityExternalCorrelation, correlationId);
}

TEST(CuptiApi, NumbersAreThoseOfTheHeaders) {
  EXPECT_EQ(kind_memcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
  EXPECT_EQ(kind_memset, CUPTI_ACTIVITY_KIND_MEMSET);
  EXPECT_EQ(kind_driver, CUPTI_ACTIVITY_KIND_DRIVER);
  EXPECT_EQ(kind_runtime, CUPTI_ACTIVITY_KIND_RUNTIME);
  EXPECT_EQ(kind_kernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(kind_external, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  EXPECT_EQ(external_custom, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
  EXPECT_EQ(insufficient_privileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  EXPECT_EQ(not_supported, CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(max_limit_reached, CUPTI_ERROR_MAX_LIMIT_REACHED);
}

TEST(CuptiApi, ParametersAreThoseOfTheHeaders) {
  EXPECT_EQ(SupportedChips{}.size, CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE);
  EXPECT_EQ(HostInitialize{}.size, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
  SAME(HostInitialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
  SAME(HostInitialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
  EXPECT_EQ(HostHandle{}.size, CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
  EXPECT_EQ(BaseMetrics{}.size, CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE);
  SAME(BaseMetrics, names, CUpti_Profiler_Host_GetBaseMetrics_Params, ppMetricNames);
  SAME(BaseMetrics, count, CUpti_Profiler_Host_GetBaseMetrics_Params, numMetrics);
}
#else
TEST(CuptiApi, RecordsAreThoseOfTheHeaders) { GTEST_SKIP() << "CUPTI's headers are not here"; }
#endif

// CUPTI's host side lists the counters of every chip without a GPU.
TEST(ChipMetrics, AreThereForEveryChipOfTheTable) {
#ifdef DEEPGAP_SANITIZED
  GTEST_SKIP()
      << "left out under AddressSanitizer: NVIDIA's library opens another with RTLD_DEEPBIND, under which the sanitizer ends the process";
#endif
  const Api* library = nullptr;
  try {
    library = &api();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const auto chips = supported_chips(*library);
  for (const char* card : {"v100", "t4", "a100", "a10", "l4", "L40S", "h100", "GH100", "b200"}) {
    const std::string chip = chip_of(card, chips);
    ASSERT_FALSE(chip.empty()) << card;
    const auto groups = wanted_metrics(supported_metrics(*library, chip));
    ASSERT_EQ(groups.size(), 5U) << chip;
    EXPECT_EQ(groups[0].metrics.size(), 3U) << chip;
    EXPECT_EQ(groups[1].metrics, std::vector<std::string>{"l1tex__t_bytes.sum"}) << chip;
    EXPECT_EQ(groups[2].metrics.size(), 9U) << chip;
    for (const std::string& metric : groups[3].metrics) EXPECT_EQ(metric.find("_op_"), std::string::npos) << metric;
  }
  EXPECT_EQ(chip_of("h900", chips), "");
}

TEST(ChipMetrics, PartsAreNotAskedForBesideTheWhole) {
  const auto groups = deepgap::wanted_metrics({"dram__bytes", "dram__bytes_read", "dram__bytes_write", "sm__ops_path_tensor_src_fp16",
                                               "sm__ops_path_tensor_op_hgmma_src_fp16", "sm__ops_path_tensor_src_int8_sparsity_on",
                                               "sm__ops_path_tensor_src_int8", "sm__ops_path_tensor_src_int8_realtime"});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].metrics, (std::vector<std::string>{"dram__bytes_read.sum", "dram__bytes_write.sum"}));
  EXPECT_EQ(groups[1].metrics, (std::vector<std::string>{"sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_int8.sum"}));
  EXPECT_EQ(ncu_command(groups).find("ncu --csv --metrics gpu__time_duration.sum,dram__bytes_read.sum"), 0U);
  EXPECT_EQ(wanted_metrics({"dram__bytes"}).at(0).metrics, std::vector<std::string>{"dram__bytes.sum"})
      << "where reads and writes are not apart";
}

TEST(CuptiApi, WordsSayWhereItWasLookedFor) {
  Api none;
  EXPECT_NO_THROW(check(none, 0, "nothing"));
  try {
    check(none, insufficient_privileges, "counting");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "CUPTI says 35 while counting");
  }
}

}  // namespace
}  // namespace deepgap::cupti
