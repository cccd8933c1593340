#include "engine/gpu/weight_packer.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace deepgap::gpu {
namespace {

std::vector<std::byte> bytes_of(int value, size_t count) { return std::vector<std::byte>(count, static_cast<std::byte>(value)); }

const Buffer& buffer(const GpuPlan& plan, BufferId id) { return plan.buffers.at(static_cast<size_t>(id)); }

TEST(WeightPacker, GivesEachConstantItsBytes) {
  GpuPlan plan;
  WeightPacker packer;
  std::vector<BufferId> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(packer.add(plan, [i] { return bytes_of(i, static_cast<size_t>(i) + 1); }));
  packer.pack();
  for (int i = 0; i < 40; ++i) {
    const Buffer& made = buffer(plan, ids[static_cast<size_t>(i)]);
    EXPECT_EQ(made.kind, Buffer::Kind::constant);
    EXPECT_EQ(made.bytes, static_cast<size_t>(i) + 1);
    EXPECT_EQ(*made.data, bytes_of(i, static_cast<size_t>(i) + 1));
  }
}

TEST(WeightPacker, KeepsEqualBytesOfTwoProgramsOnce) {
  GpuPlan small, large;
  WeightPacker packer;
  const BufferId a = packer.add(small, [] { return bytes_of(7, 100); }), b = packer.add(large, [] { return bytes_of(7, 100); });
  const BufferId other = packer.add(large, [] { return bytes_of(8, 100); });
  packer.pack();
  EXPECT_EQ(buffer(small, a).data, buffer(large, b).data);
  EXPECT_NE(buffer(large, b).data, buffer(large, other).data);
}

TEST(WeightPacker, ThrowsWhatPackingThrew) {
  GpuPlan plan;
  WeightPacker packer;
  packer.add(plan, []() -> std::vector<std::byte> { throw std::runtime_error("weights of another shape"); });
  packer.add(plan, [] { return bytes_of(1, 1); });
  EXPECT_THROW(packer.pack(), std::runtime_error);
}

}  // namespace
}  // namespace deepgap::gpu
