#include "cuda/objects.h"

#include "base/test_error.h"
#include "cuda/device_infos.h"
#include "cuda/fake_driver.h"

#include <gmock/gmock.h>

#include <optional>

namespace deepgap::cuda {
namespace {

using testing::HasSubstr;

struct Played {
  FakeDriver fake;
  DriverStandIn driver{fake.table()};
};

TEST(DeviceMemory, IsCountedByDeviceAndGivenBack) {
  Played played;
  played.fake.devices = 2;
  const DeviceContext first(0), second(1);
  const DeviceMemory there(1000);
  first.use();
  {
    DeviceMemory here(300);
    DeviceMemory moved = std::move(here);
    EXPECT_EQ(here.bytes(), 0u);
    EXPECT_EQ(first.taken_bytes(), 300u);
  }
  EXPECT_EQ(first.taken_bytes(), 0u);
  EXPECT_EQ(first.peak_bytes(), 300u);
  first.reset_peak();
  EXPECT_EQ(first.peak_bytes(), 0u);
  EXPECT_EQ(second.taken_bytes(), 1000u);
  EXPECT_EQ(played.fake.taken_bytes(), 1000u);
}

TEST(DeviceMemory, WhereThereIsNoneItIsSaidAndNothingIsCounted) {
  Played played;
  played.fake.others_bytes = played.fake.total_bytes - 100;
  const DeviceContext context(0);
  EXPECT_EQ(error_of([] { DeviceMemory(101); }, ErrorKind::out_of_memory),
            "out of memory: CUDA_ERROR_OUT_OF_MEMORY: as a test has it while taking 101 B of the device's memory, of which 100 B of 8.0 "
            "GiB are free");
  EXPECT_EQ(context.taken_bytes(), 0u);
  EXPECT_EQ(DeviceMemory(100).bytes(), 100u);
}

TEST(DeviceContext, OfADeviceThatIsNotThereIsRefused) {
  Played played;
  EXPECT_EQ(error_of([] { DeviceContext(3); }, ErrorKind::refused), "there is no device cuda:3: the NVIDIA driver counts 1");
  EXPECT_EQ(error_of([] { device_facts(-1); }, ErrorKind::refused), "there is no device cuda:-1: the NVIDIA driver counts 1");
}

TEST(DeviceContext, WhereNoneFitsItIsOutOfMemory) {
  Played played;
  played.fake.fail("cuDevicePrimaryCtxRetain", FakeDriver::out_of_memory);
  EXPECT_THAT(error_of([] { DeviceContext(0); }, ErrorKind::out_of_memory), HasSubstr("while opening cuda:0"));
}

TEST(CudaGraph, ARecordingThatFailsIsEndedAndToldOf) {
  Played played;
  const DeviceContext context(0);
  const Stream stream;
  EXPECT_THROW(CudaGraph::record(stream, [] { throw Error(ErrorKind::internal, "x"); }), Error);
  EXPECT_EQ(played.fake.calls("cuStreamEndCapture"), 1);
  EXPECT_TRUE(CudaGraph::record(stream, [] {}));
  played.fake.fail("cuGraphInstantiateWithFlags", FakeDriver::out_of_memory);
  EXPECT_THAT(error_of([&] { CudaGraph::record(stream, [] {}); }, ErrorKind::out_of_memory), HasSubstr("while making a graph"));
}

TEST(DeviceInfos, TellWhatTheDriverKnows) {
  Played played;
  played.fake.devices = 2;
  const auto infos = device_infos();
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_EQ(infos[1].id.index, 1);
  EXPECT_EQ(infos[1].name, "Played GPU");
  EXPECT_EQ(infos[1].memory_bytes, static_cast<int64_t>(played.fake.total_bytes));
  EXPECT_EQ(infos[1].properties.at("compute_capability"), "9.0");
  EXPECT_EQ(infos[1].properties.at("sm_clock"), "1980 MHz");
  EXPECT_EQ(infos[1].properties.at("pci"), "0000:01:00.0");
}

}  // namespace
}  // namespace deepgap::cuda
