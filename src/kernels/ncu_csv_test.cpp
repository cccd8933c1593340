#include "kernels/ncu_csv.h"
#include "kernels/occupancy.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

constexpr const char* long_form = R"csv(==PROF== Connected to process 4242 (/usr/bin/python3.11)
==PROF== Profiling "Kernel2" - 0: 0%....50%....100% - 3 passes
a line, that the program printed
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4242","python3.11","127.0.0.1","void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(T1::Params)","1","7","(128, 1, 1)","(64, 4, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","Mbyte","1,268.45"
"0","4242","python3.11","127.0.0.1","void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(T1::Params)","1","7","(128, 1, 1)","(64, 4, 1)","0","9.0","Command line profiler metrics","dram__bytes_write.sum","Kbyte","512"
"0","4242","python3.11","127.0.0.1","void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(T1::Params)","1","7","(128, 1, 1)","(64, 4, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","usecond","512.5"
"0","4242","python3.11","127.0.0.1","void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(T1::Params)","1","7","(128, 1, 1)","(64, 4, 1)","0","9.0","Command line profiler metrics","sm__ops_path_tensor_src_tf32_dst_fp32.sum","","137,438,953,472"
"1","4242","python3.11","127.0.0.1","void at::native::vectorized_elementwise_kernel<4, at::native::F, std::array<char*, 3ul>>(int, T2, T3)","1","7","(128, 1, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","Gbyte","0.5"
"1","4242","python3.11","127.0.0.1","void at::native::vectorized_elementwise_kernel<4, at::native::F, std::array<char*, 3ul>>(int, T2, T3)","1","7","(128, 1, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_write.sum","byte","n/a"
"1","4242","python3.11","127.0.0.1","void at::native::vectorized_elementwise_kernel<4, at::native::F, std::array<char*, 3ul>>(int, T2, T3)","1","7","(128, 1, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","msecond","1.5"
"1","4242","python3.11","127.0.0.1","void at::native::vectorized_elementwise_kernel<4, at::native::F, std::array<char*, 3ul>>(int, T2, T3)","1","7","(128, 1, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","inst","1,000,000"
"1","4242","python3.11","127.0.0.1","void at::native::vectorized_elementwise_kernel<4, at::native::F, std::array<char*, 3ul>>(int, T2, T3)","1","7","(128, 1, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","smsp__sass_thread_inst_executed_op_fadd_pred_on.sum","Kinst","2"
)csv";

TEST(NcuCsv, TheLongFormHasARowForEachMetric) {
  const NcuFile file = read_ncu_csv(long_form, "a.csv");
  ASSERT_EQ(file.kernels.size(), 2U);
  const KernelCounters& gemm = file.kernels[0];
  EXPECT_EQ(gemm.family, "gemm");
  EXPECT_EQ(gemm.grid, (std::array<int, 3>{64, 4, 1}));
  EXPECT_EQ(gemm.stream, 7);
  EXPECT_DOUBLE_EQ(gemm.metrics.at("dram__bytes_read.sum"), 1268.45e6);
  EXPECT_DOUBLE_EQ(gemm.metrics.at("dram__bytes_write.sum"), 512e3);
  EXPECT_DOUBLE_EQ(gemm.metrics.at("gpu__time_duration.sum"), 512.5e-6);
  EXPECT_EQ(file.kernels[1].family, "elementwise");
  EXPECT_FALSE(file.kernels[1].metrics.contains("dram__bytes_write.sum")) << "n/a is not 0";
  EXPECT_EQ(file.not_available, 1U);
  EXPECT_THAT(file.notes.at(0), HasSubstr("1 values are n/a"));
}

TEST(NcuCsv, SumsAreTheStudys) {
  const KernelSums sums = sums_of(read_ncu_csv(long_form, "a.csv").kernels);
  EXPECT_EQ(sums.kernels, 2);
  EXPECT_DOUBLE_EQ(sums.seconds, 512.5e-6 + 1.5e-3);
  EXPECT_DOUBLE_EQ(sums.dram_bytes, 1268.45e6 + 512e3 + 0.5e9);
  EXPECT_DOUBLE_EQ(sums.fp32_flop, 2e6 + 2e3) << "fadd + fmul + 2 ffma";
  EXPECT_DOUBLE_EQ(sums.tensor_flop, 137438953472.0);
  EXPECT_TRUE(sums.has_seconds() && sums.has_dram());
  EXPECT_FALSE(sums.has_tensor()) << "one of two kernels: no rate of both";
  EXPECT_EQ(sums.with_tensor, 1);
}

TEST(NcuCsv, TheWideFormHasARowForEachKernelAndOneOfUnits) {
  const NcuFile file = read_ncu_csv(
      "==PROF== Disconnected\n"
      "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid "
      "Size\",\"dram__bytes_read.sum\",\"gpu__time_duration.sum\",\"launch__func_cache_config\",\"dram__bytes_read.sum.per_second\"\n"
      "\"\",\"\",\"\",\"\",\"Mbyte\",\"us\",\"\",\"Gbyte/s\"\n"
      "\"0\",\"sm80_xmma_dgrad_implicit_gemm\",\"(256, 1, 1)\",\"(8, 1, 1)\",\"1.5\",\"2,000\",\"CachePreferNone\",\"0.75\"\n"
      "\"1\",\"copy_kernel\",\"256\",\"8\",\"n/a\",\"7\",\"CachePreferNone\",\"\"\n",
      "wide.csv");
  ASSERT_EQ(file.kernels.size(), 2U);
  EXPECT_EQ(file.kernels[0].family, "conv data gradient");
  EXPECT_DOUBLE_EQ(file.kernels[0].metrics.at("dram__bytes_read.sum"), 1.5e6);
  EXPECT_DOUBLE_EQ(file.kernels[0].metrics.at("gpu__time_duration.sum"), 2e-3);
  EXPECT_DOUBLE_EQ(file.kernels[0].metrics.at("dram__bytes_read.sum.per_second"), 0.75e9);
  EXPECT_EQ(file.kernels[1].block[0], 256);
  EXPECT_EQ(file.not_available, 2U);
  EXPECT_EQ(sums_of(file.kernels).seconds, 2.007e-3);
}

TEST(NcuCsv, WhatIsNoSuchTableIsSaidInOneLine) {
  const auto refused = [](const std::string& text) {
    try {
      read_ncu_csv(text, "a.csv");
      return std::string("taken");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refused(""), HasSubstr("a.csv: no kernels of Nsight Compute"));
  EXPECT_THAT(refused("model,batch\nresnet50,1\n"), HasSubstr("no kernels"));
  EXPECT_THAT(refused("==ERROR== ERR_NVGPUCTRPERM\n"), HasSubstr("no kernels"));
  EXPECT_THAT(refused("ID,Kernel Name,Metric Name,Metric Value\n0,k,dram__bytes_read.sum,many\n"),
              HasSubstr("a.csv:2: dram__bytes_read.sum is 'many', which is not a number"));
  EXPECT_THAT(refused("ID,Kernel Name,Metric Name,Metric Value\n0,k,dram__bytes_read.sum\n"),
              HasSubstr("a.csv:2: 3 cells where the header has 4"));
  EXPECT_THAT(refused("ID,Kernel Name,Metric Name,Metric Value\n0,\"k"), HasSubstr("a.csv:2: a quote begins here and does not end"));
}

TEST(NcuCsv, ValuesHaveThousandsSeparatorsAndScaledUnits) {
  const auto value = [](const char* text, const char* unit) {
    double result = -1;
    return ncu_value(text, unit, result) ? result : -1;
  };
  EXPECT_EQ(value("1,234,567", ""), 1234567);
  EXPECT_EQ(value("1.5", "Gbyte"), 1.5e9);
  EXPECT_EQ(value("12.5", "%"), 0.125);
  EXPECT_EQ(value("3", "Tbyte/second"), 3e12);
  EXPECT_EQ(value("3", "byte/nsecond"), 3e9);
  EXPECT_EQ(value("7", "Mhz"), 7e6);
  EXPECT_EQ(value("4", "nsecond"), 4e-9);
  EXPECT_EQ(value("4", "sector/request"), 4);
  EXPECT_EQ(value("low", ""), -1);
  EXPECT_EQ(value("inf", ""), -1);
}

TEST(NcuCsv, PartsAreNeverAddedToWhatHoldsThem) {
  KernelCounters hopper;
  hopper.metrics = {{"sm__ops_path_tensor_src_fp16.sum", 100},
                    {"sm__ops_path_tensor_op_hgmma_src_fp16.sum", 70},
                    {"sm__ops_path_tensor_op_hmma_src_fp16.sum", 30},
                    {"sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum", 70},
                    {"sm__ops_path_tensor_src_int8.sum", 5}};
  EXPECT_EQ(sums_of({hopper}).tensor_flop, 105);
  hopper.metrics.erase("sm__ops_path_tensor_src_fp16.sum");
  hopper.metrics.erase("sm__ops_path_tensor_src_int8.sum");
  EXPECT_EQ(sums_of({hopper}).tensor_flop, 100) << "the parts, where nothing else was counted";
}

Kernel kernel_of(int block, int registers, int64_t shared, int grid) {
  Kernel kernel;
  kernel.block = {block, 1, 1};
  kernel.grid = {grid, 1, 1};
  kernel.registers = registers;
  kernel.shared_bytes = shared;
  return kernel;
}

TEST(Occupancy, IsLimitedByWhatRunsOutFirst) {
  const auto full = occupancy_of(kernel_of(256, 32, 0, 1056), 90, 132);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->blocks, 8);
  EXPECT_EQ(full->share, 1);
  EXPECT_EQ(full->waves, 1);
  const auto registers = occupancy_of(kernel_of(256, 168, 0, 132), 90, 132);
  EXPECT_EQ(registers->limiter, "registers");
  EXPECT_EQ(registers->blocks, 1);
  EXPECT_EQ(registers->share, 0.125);
  const auto shared = occupancy_of(kernel_of(128, 32, 100 << 10, 132), 90, 132);
  EXPECT_EQ(shared->limiter, "shared memory");
  EXPECT_EQ(shared->blocks, 2);
  EXPECT_EQ(occupancy_of(kernel_of(32, 16, 0, 132), 90, 132)->limiter, "blocks");
  EXPECT_EQ(occupancy_of(kernel_of(256, 32, 0, 1), 75, 40)->blocks, 4);
  EXPECT_FALSE(occupancy_of(kernel_of(256, 32, 0, 1), 35, 40)) << "a chip that is not known";
}

}  // namespace
}  // namespace deepgap
