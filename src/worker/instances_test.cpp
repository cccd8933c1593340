#include "worker/instances.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(SampleLayout, BatchesThatAreReadInPlaceAreNeighbours) {
  Point batches, server;
  batches.scenario = "batch";
  server.scenario = "server";
  const DeviceId cpu{"", "cpu", 0}, gpu{"", "cuda", 0};
  const auto layout = [](const Point& point, const DeviceId& device, InputPlace inputs, bool change = false) {
    EngineRequest request;
    request.inputs = inputs;
    request.samples_change = change;
    return sample_layout(point, device, request);
  };
  EXPECT_EQ(layout(batches, cpu, InputPlace::host), SampleLayout::adjacent);
  EXPECT_EQ(layout(batches, gpu, InputPlace::device), SampleLayout::adjacent);
  EXPECT_EQ(layout(batches, gpu, InputPlace::ready), SampleLayout::adjacent);
  EXPECT_EQ(layout(batches, gpu, InputPlace::host), SampleLayout::as_they_are) << "each query copies them";
  EXPECT_EQ(layout(batches, gpu, InputPlace::host_ready), SampleLayout::as_they_are);
  EXPECT_EQ(layout(batches, gpu, InputPlace::device, true), SampleLayout::as_they_are);
  EXPECT_EQ(layout(server, gpu, InputPlace::ready), SampleLayout::as_they_are) << "its batches are put together";
}

}  // namespace
}  // namespace deepgap
