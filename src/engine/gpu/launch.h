// One launch of one kernel, as the families (convolution.h, ...) describe it and the executor runs it. Plain data; no driver is called
// here.
//
// A kernel is CUDA C++ text, made for one shape, that includes nothing (NVRTC has no headers on a user's machine): types as `half` are not
// there, kernel_text.h has conversions and vector types written with PTX.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace deepgap::gpu {

// The stored type of elements.
enum class Element : uint8_t { f32, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, f64, boolean, e4m3 };
size_t byte_size(Element element);

struct Chip {
  int architecture = 90;  // compute capability times ten
  int multiprocessors = 132;
  size_t shared_bytes = 227 << 10;  // limit of one block
  // Returns "sm_90a", for example: with the instructions of this chip alone.
  std::string target() const;
};

// A buffer by its role in the launch: a family's own numbering, such as source, weights, target; the executor knows the address.
struct BufferArgument {
  int role = 0;
};
// A tile description of a buffer for TMA (cuTensorMapEncodeTiled's arguments), passed by value as `const __grid_constant__
// Map`. sizes, strides: innermost first; strides in bytes, of dimension 1 and on.
struct TensorMapArgument {
  int role = 0;
  Element element = Element::i8;
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box, steps;  // steps: elements between those that are read; empty: 1
  int swizzle_bytes = 0;             // 0, 32, 64, 128
  int64_t offset_bytes = 0;          // offset of the first element in the buffer
};
// Like TensorMapArgument, for convolutions (cuTensorMapEncodeIm2col); `lower`, `upper`: the corners of the pixel box.
struct Im2colMapArgument {
  int role = 0;
  Element element = Element::i8;
  std::vector<uint64_t> sizes, strides;
  std::vector<int> lower, upper;
  uint32_t channels = 0, pixels = 0;
  std::vector<uint32_t> steps;
  int swizzle_bytes = 0;
};
struct NumberArgument {
  std::variant<int32_t, int64_t, float> value;
};
using Argument = std::variant<BufferArgument, TensorMapArgument, Im2colMapArgument, NumberArgument>;

class LibraryCall;  // library_call.h

struct Launch {
  std::string entry;   // name of the extern "C" __global__ function
  std::string source;  // the whole translation unit
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  size_t shared_bytes = 0;  // dynamic
  unsigned cluster = 1;     // blocks of a cluster, along x
  // Begins before the launch before it has ended: the kernel calls griddepcontrol.wait before it reads what others wrote.
  bool overlaps_previous = false;
  std::vector<Argument> arguments;
  std::shared_ptr<const LibraryCall> library;  // instead of a kernel: what stands above is empty but for `entry`, its name
};

}  // namespace deepgap::gpu
