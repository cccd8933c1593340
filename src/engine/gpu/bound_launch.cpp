#include "engine/gpu/bound_launch.h"

#include <deepgap/error.h>

#include <array>
#include <cstring>

namespace deepgap::gpu {
namespace {

// CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion
int map_type(Element element) {
  switch (element) {
    case Element::f32:
      return 7;
    case Element::f16:
      return 6;
    case Element::bf16:
      return 9;
    case Element::i16:
    case Element::u16:
      return 1;
    case Element::u32:
      return 2;
    case Element::i32:
      return 3;
    default:
      return 0;
  }
}
int map_swizzle(int bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }
constexpr int promotion_256 = 3;

std::vector<uint32_t> ones_unless(const std::vector<uint32_t>& steps, size_t rank) {
  return steps.empty() ? std::vector<uint32_t>(rank, 1) : steps;
}

void need(bool there) {
  if (!there) throw Error(ErrorKind::refused, "the NVIDIA driver is too old for TMA tile descriptions: CUDA 12 is needed");
}

cuda::TensorMap filled(const TensorMapArgument& map, cuda::Address address) {
  need(cuda::driver().cuTensorMapEncodeTiled != nullptr);
  cuda::TensorMap made{};
  const auto steps = ones_unless(map.steps, map.sizes.size());
  auto* start = reinterpret_cast<void*>(address + static_cast<cuda::Address>(map.offset_bytes));
  cuda::check(cuda::driver().cuTensorMapEncodeTiled(&made, map_type(map.element), static_cast<unsigned>(map.sizes.size()), start,
                                                    map.sizes.data(), map.strides.data(), map.box.data(), steps.data(), 0,
                                                    map_swizzle(map.swizzle_bytes), promotion_256, 0),
              "describing a buffer's tiles");
  return made;
}

cuda::TensorMap filled(const Im2colMapArgument& map, cuda::Address address) {
  need(cuda::driver().cuTensorMapEncodeIm2col != nullptr);
  cuda::TensorMap made{};
  const auto steps = ones_unless(map.steps, map.sizes.size());
  cuda::check(cuda::driver().cuTensorMapEncodeIm2col(&made, map_type(map.element), static_cast<unsigned>(map.sizes.size()),
                                                     reinterpret_cast<void*>(address), map.sizes.data(), map.strides.data(),
                                                     map.lower.data(), map.upper.data(), map.channels, map.pixels, steps.data(), 0,
                                                     map_swizzle(map.swizzle_bytes), promotion_256, 0),
              "describing a buffer's pixels");
  return made;
}

template <typename T>
cuda::TensorMap first_bytes(const T& value) {
  cuda::TensorMap slot{};
  std::memcpy(&slot, &value, sizeof(T));
  return slot;
}

struct Fill {
  const AddressOf& address;
  cuda::TensorMap operator()(const BufferArgument& buffer) const { return first_bytes(address(buffer.role)); }
  cuda::TensorMap operator()(const TensorMapArgument& map) const { return filled(map, address(map.role)); }
  cuda::TensorMap operator()(const Im2colMapArgument& map) const { return filled(map, address(map.role)); }
  cuda::TensorMap operator()(const NumberArgument& number) const {
    return std::visit([](auto value) { return first_bytes(value); }, number.value);
  }
};

}  // namespace

BoundLaunch::BoundLaunch(const Launch& launch, cuda::Function function, const AddressOf& address)
    : overlaps_previous_(launch.overlaps_previous), cluster_(launch.cluster), function_(function) {
  if (launch.library) {
    call_ = launch.library->bind(address);
    return;
  }
  slots_.resize(launch.arguments.size());
  move(launch, address);
  config_ = {.grid_x = launch.grid[0],
             .grid_y = launch.grid[1],
             .grid_z = launch.grid[2],
             .block_x = launch.block[0],
             .block_y = launch.block[1],
             .block_z = launch.block[2],
             .shared_bytes = static_cast<unsigned>(launch.shared_bytes),
             .stream = nullptr,
             .attributes = nullptr,
             .attribute_count = 0};
}

void BoundLaunch::move(const Launch& launch, const AddressOf& address) {
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i] = {std::visit(Fill{address}, launch.arguments[i])};
}

std::vector<void*> BoundLaunch::parameters() const {
  std::vector<void*> all;
  for (const Slot& slot : slots_) all.push_back(const_cast<Slot*>(&slot));
  return all;
}

void BoundLaunch::launch(cuda::StreamHandle stream, bool overlapping) const {
  if (call_) return call_(stream);
  std::array<cuda::LaunchAttribute, 2> attributes{};
  cuda::LaunchConfig config = config_;
  config.stream = stream;
  config.attributes = attributes.data();
  if (cluster_ > 1) {
    auto& attribute = attributes[config.attribute_count++];
    attribute.id = cuda::attribute_cluster;
    attribute.value.cluster = {cluster_, 1, 1};
  }
  if (overlapping) {
    auto& attribute = attributes[config.attribute_count++];
    attribute.id = cuda::attribute_programmatic;
    attribute.value.flag = 1;
  }
  cuda::check(cuda::driver().cuLaunchKernelEx(&config, function_, parameters().data(), nullptr), "launching a kernel");
}

}  // namespace deepgap::gpu
