#include "telemetry/gpu_state.h"

#include "telemetry/nvml_fake.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(GpuState, IsReadAtTheMoment) {
  FakeNvml nvml;
  nvml.gpus.resize(2);
  nvml.gpus[1].sm_mhz = 1410;
  nvml.gpus[1].reasons = 0x4;
  const GpuStateReader reader(nvml.loader(), {}, 1);
  const GpuReading reading = reader.read();
  EXPECT_EQ(reading.sm_hz, 1.41e9);
  EXPECT_EQ(reading.power_w, 310) << "of the moment";
  EXPECT_EQ(reading.power_limit_w, nvml.gpus[1].limit_mw / 1e3);
  EXPECT_EQ(reading.throttle_reasons, 0x4U);
  nvml.gpus[1].fails["instant"] = nvml_not_supported;
  EXPECT_EQ(reader.read().power_w, 300) << "the mean, where there is no other";
  nvml.gpus[1].fails["all"] = nvml_gpu_is_lost;
  EXPECT_EQ(reader.read().power_w, 0);
  EXPECT_EQ(reader.read().sm_hz, 0);
}

TEST(GpuState, IsZeroWhereNobodyTells) {
  FakeNvml nvml;
  nvml.gpus.resize(1);
  EXPECT_EQ(GpuStateReader(nvml.loader(), {}, 3).read().sm_hz, 0);
  const GpuStateReader none([] { return NvmlLoad{{}, "no driver"}; }, {}, 0);
  EXPECT_EQ(none.read().power_w, 0);
}

}  // namespace
}  // namespace deepgap
