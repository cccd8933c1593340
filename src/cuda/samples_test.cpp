#include "cuda/samples.h"

#include "base/test_error.h"
#include "cuda/compiler.h"
#include "cuda/fake_driver.h"

#include <gmock/gmock.h>

#include <numeric>

namespace deepgap::cuda {
namespace {

// Does what the kernel's text does.
template <typename Unit>
void gather(const LaunchConfig& config, void** arguments) {
  const auto* from = reinterpret_cast<const Unit*>(*static_cast<Address*>(arguments[0]));
  const auto* indices = reinterpret_cast<const int*>(*static_cast<Address*>(arguments[1]));
  auto* to = reinterpret_cast<Unit*>(*static_cast<Address*>(arguments[2]));
  const long long units = *static_cast<long long*>(arguments[3]);
  for (unsigned row = 0; row < config.grid_x; ++row)
    std::copy_n(from + (indices != nullptr ? indices[row] : static_cast<int>(row)) * units, units, to + row * units);
}
struct Sixteen {
  std::array<char, 16> bytes;
};

// Samples of two inputs, of `first` and three numbers; sample s has 100 * s, 100 * s + 1, ... in the one and s in the other.
class SamplesTest : public testing::Test {
 protected:
  SamplesTest() {
    fake_.kernels = {{"gather_16", gather<Sixteen>}, {"gather_4", gather<int>}, {"gather_1", gather<char>}};
    context_.emplace(0);
  }
  void make(int64_t first, size_t count = 6) {
    shapes_ = {{1, first}, {1, 3}};
    for (size_t s = 0; s < count; ++s) {
      numbers_.emplace_back(static_cast<size_t>(first));
      std::iota(numbers_.back().begin(), numbers_.back().end(), 100 * static_cast<int>(s));
      numbers_.emplace_back(3, static_cast<int>(s));
    }
    for (size_t s = 0; s < count; ++s)
      given_.push_back(
          {{DataType::i32, shapes_[0], bytes_of(numbers_[2 * s])}, {DataType::i32, shapes_[1], bytes_of(numbers_[2 * s + 1])}});
  }
  static const std::byte* bytes_of(const std::vector<int>& numbers) { return reinterpret_cast<const std::byte*>(numbers.data()); }

  // The first number of each sample in each input, as a query of these has it.
  std::vector<std::vector<int>> gathered(const Samples& samples, SamplePlace place, std::vector<uint32_t> which) {
    const Stream stream;
    GatherSpace space(place, 8, 1 << 16);
    std::vector<DeviceMemory> buffers;
    std::vector<Samples::Input> inputs;
    for (const auto& shape : shapes_) {
      buffers.emplace_back(8 * static_cast<size_t>(shape[1]) * sizeof(int));
      inputs.push_back({buffers.back().address(), which.size() * static_cast<size_t>(shape[1]) * sizeof(int)});
    }
    samples.launch(which, inputs, space, stream.get());
    std::vector<std::vector<int>> result(2);
    for (size_t i = 0; i < 2; ++i)
      for (size_t s = 0; s < which.size(); ++s)
        result[i].push_back(reinterpret_cast<const int*>(buffers[i].address())[s * static_cast<size_t>(shapes_[i][1])]);
    return result;
  }

  FakeDriver fake_;
  DriverStandIn driver_{fake_.table()};
  std::optional<DeviceContext> context_;
  std::vector<Shape> shapes_;
  std::vector<std::vector<int>> numbers_;
  std::vector<std::vector<TensorView>> given_;
};

const std::vector<std::vector<int>> five_two_three{{500, 200, 300}, {5, 2, 3}};
const std::vector<std::vector<int>> two_to_four{{200, 300, 400}, {2, 3, 4}};

TEST_F(SamplesTest, ComeTogetherWhereverTheyLie) {
  make(8);
  for (const SamplePlace place :
       {SamplePlace::host, SamplePlace::host_ready, SamplePlace::caller, SamplePlace::device, SamplePlace::ready}) {
    if (lies_on_device(place) && !has_compiler()) GTEST_SKIP() << "no NVRTC on this machine: the kernel that gathers is not compiled";
    Samples samples("engine", {"a", "b"}, place, 90);
    samples.stage(given_, [](size_t, Address, size_t) { return std::nullopt; });
    EXPECT_EQ(gathered(samples, place, {5, 2, 3}), five_two_three);
    EXPECT_EQ(gathered(samples, place, {2, 3, 4}), two_to_four);
    EXPECT_EQ(gathered(samples, place, {0, 0}), (std::vector<std::vector<int>>{{0, 0}, {0, 0}}));
  }
}

TEST_F(SamplesTest, AKernelBringsFewNeighboursAndOneCopyMany) {
  if (!has_compiler()) GTEST_SKIP() << "no NVRTC on this machine: the kernel that gathers is not compiled";
  make(8);
  Samples samples("engine", {"a", "b"}, SamplePlace::device, 90);
  samples.stage(given_, nullptr);
  EXPECT_EQ(gathered(samples, SamplePlace::device, {2, 3, 4}), two_to_four);
  EXPECT_EQ(fake_.calls("cuLaunchKernelEx"), 2) << "of two inputs";
  EXPECT_EQ(fake_.calls("cuMemcpyHtoDAsync_v2"), 0) << "neighbours need no indices";
  gathered(samples, SamplePlace::device, {4, 3, 2});
  EXPECT_EQ(fake_.calls("cuLaunchKernelEx"), 4);
  EXPECT_EQ(fake_.calls("cuMemcpyHtoDAsync_v2"), 1);
  EXPECT_EQ(fake_.calls("cuMemcpyDtoDAsync_v2"), 0);
}

TEST_F(SamplesTest, OneCopyBringsManyNeighbours) {
  if (!has_compiler()) GTEST_SKIP() << "no NVRTC on this machine: the kernel that gathers is not compiled";
  make(int64_t{1} << 19, 4);
  Samples samples("engine", {"a", "b"}, SamplePlace::device, 90);
  samples.stage(given_, nullptr);
  EXPECT_EQ(gathered(samples, SamplePlace::device, {1, 2, 3}), (std::vector<std::vector<int>>{{100, 200, 300}, {1, 2, 3}}));
  EXPECT_EQ(fake_.calls("cuMemcpyDtoDAsync_v2"), 1) << "of the input with 6 MiB";
  EXPECT_EQ(fake_.calls("cuLaunchKernelEx"), 1);
}

TEST_F(SamplesTest, NeighboursOnTheDeviceLieWhereAQueryCanReadThem) {
  if (!has_compiler()) GTEST_SKIP() << "no NVRTC on this machine: the kernel that gathers is not compiled";
  make(8);
  Samples samples("engine", {"a", "b"}, SamplePlace::device, 90);
  samples.stage(given_, nullptr);
  const auto first = [&](std::vector<uint32_t> which, size_t input, size_t bytes) {
    const Address address = samples.lying(which, input, bytes);
    return address == 0 ? -1 : *reinterpret_cast<const int*>(address);
  };
  EXPECT_EQ(first({2}, 0, 32), 200);
  EXPECT_EQ(first({2, 3, 4}, 0, 3 * 32), 200);
  EXPECT_EQ(first({2, 3}, 0, 4 * 32), 200) << "places that nobody asked for are read, too";
  EXPECT_EQ(first({4, 5}, 0, 4 * 32), -1) << "and would lie beyond the last sample";
  EXPECT_EQ(first({3, 2}, 0, 2 * 32), -1);
  EXPECT_EQ(first({6}, 0, 32), -1) << "not staged";
  EXPECT_EQ(first({0}, 1, 12), 0);
  EXPECT_EQ(first({1}, 1, 12), -1) << "not at a multiple of 16 bytes";
  Samples elsewhere("engine", {"a", "b"}, SamplePlace::host, 90);
  elsewhere.stage(given_, nullptr);
  EXPECT_EQ(elsewhere.lying(std::vector<uint32_t>{2}, 0, 32), 0u);
}

TEST_F(SamplesTest, CopiesNothingToAnInputThatIsReadElsewhere) {
  if (!has_compiler()) GTEST_SKIP() << "no NVRTC on this machine: the kernel that gathers is not compiled";
  make(8);
  Samples samples("engine", {"a", "b"}, SamplePlace::device, 90);
  samples.stage(given_, nullptr);
  const Stream stream;
  const DeviceMemory buffer(64);
  GatherSpace space(SamplePlace::device, 8, 0);
  const std::vector<uint32_t> one{2}, two{3, 2};
  samples.launch(one, std::vector<Samples::Input>{{0, 32}, {0, 12}}, space, stream.get());
  EXPECT_EQ(fake_.calls("cuLaunchKernelEx"), 0);
  samples.launch(two, std::vector<Samples::Input>{{0, 64}, {buffer.address(), 24}}, space, stream.get());
  EXPECT_EQ(fake_.calls("cuLaunchKernelEx"), 1);
  EXPECT_EQ(*reinterpret_cast<const int*>(buffer.address()), 3);
}

TEST_F(SamplesTest, WithReadyQueriesReadWhatWasMadeOfThem) {
  make(8);
  for (const SamplePlace place : {SamplePlace::host_ready, SamplePlace::ready}) {
    if (lies_on_device(place) && !has_compiler()) GTEST_SKIP() << "no NVRTC on this machine: the kernel that gathers is not compiled";
    Samples samples("engine", {"a", "b"}, place, 90);
    samples.stage(given_, [&](size_t input, Address from, size_t count) -> std::optional<DeviceMemory> {
      if (input == 1) return std::nullopt;
      DeviceMemory made(count * 8 * sizeof(int));
      for (size_t i = 0; i < count * 8; ++i) reinterpret_cast<int*>(made.address())[i] = reinterpret_cast<const int*>(from)[i] + 7;
      return made;
    });
    EXPECT_EQ(gathered(samples, place, {5, 2, 3}), (std::vector<std::vector<int>>{{507, 207, 307}, {5, 2, 3}}));
  }
}

TEST_F(SamplesTest, SeveralCopiesAreOneCallWhereTheDriverTakesIt) {
  make(8);
  Samples samples("engine", {"a", "b"}, SamplePlace::host, 90);
  samples.stage(given_, nullptr);
  EXPECT_EQ(gathered(samples, SamplePlace::host, {5, 2, 3}), five_two_three);
  EXPECT_EQ(fake_.calls("cuMemcpyBatchAsync_v2"), 1);
  EXPECT_EQ(fake_.copied_together, 4) << "two runs of neighbours in each of two inputs";
  EXPECT_EQ(fake_.calls("cuMemcpyHtoDAsync_v2"), 0);
}

TEST_F(SamplesTest, AnOlderDriverGetsThemOneByOne) {
  Driver older = fake_.table();
  older.cuMemcpyBatchAsync_v2 = nullptr;
  const DriverStandIn driver(older);
  make(8);
  Samples samples("engine", {"a", "b"}, SamplePlace::host, 90);
  samples.stage(given_, nullptr);
  EXPECT_EQ(gathered(samples, SamplePlace::host, {5, 2, 3}), five_two_three);
  EXPECT_EQ(fake_.calls("cuMemcpyHtoDAsync_v2"), 4);
}

TEST_F(SamplesTest, WithCallerBytesAreReadAnew) {
  make(8);
  Samples samples("engine", {"a", "b"}, SamplePlace::caller, 90);
  samples.stage(given_, nullptr);
  numbers_[2 * 5][0] = 77;
  EXPECT_EQ(gathered(samples, SamplePlace::caller, {5})[0][0], 77);
}

TEST_F(SamplesTest, WhatDoesNotFitIsRefusedByName) {
  make(8);
  Samples samples("engine", {"a", "b"}, SamplePlace::host, 90);
  samples.stage(given_, nullptr);
  const Stream stream;
  GatherSpace space(SamplePlace::host, 8, 0);
  const std::vector<Samples::Input> inputs{{0, 32}, {0, 16}};
  const std::vector<uint32_t> far{6}, near{0};
  EXPECT_EQ(error_of([&] { samples.launch(far, inputs, space, stream.get()); }, ErrorKind::input),
            "engine: sample 6 was not staged, 6 were");
  EXPECT_EQ(error_of([&] { samples.launch(near, inputs, space, stream.get()); }, ErrorKind::input),
            "engine: 1 samples of 12 bytes for input 'b', the model takes 16 bytes");
}

TEST_F(SamplesTest, TheKernelCompilesForEveryChip) {
  if (!has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const char* chip : {"sm_80", "sm_89", "sm_90"}) EXPECT_EQ(resources_of(compile(GatherKernel::text(), chip)).spill_bytes, 0) << chip;
}

}  // namespace
}  // namespace deepgap::cuda
