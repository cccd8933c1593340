// Our declarations against CUPTI's own headers, where a toolkit or NVIDIA's packages have them.
#include "kernels/cupti_api.h"

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
#else
TEST(CuptiApi, RecordsAreThoseOfTheHeaders) { GTEST_SKIP() << "CUPTI's headers are not here"; }
#endif

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
