// Kernels that are written out from what an operator means: one thread for some elements of the result, found by their coordinates. They
// read values in whatever form these lie.
//
// Operands are not `__restrict__`: the compiler would take what they hold for unchanging, and might read it before the kernel has waited
// for those that write it.
#pragma once

#include "engine/gpu/lowering.h"

#include <functional>
#include <string>
#include <vector>

namespace deepgap::gpu {

// The types a kernel computes with: numbers in float, integers in long long, doubles in double, truth values in bool.
enum class Kind { number, integer, real, truth };
Kind kind_of(Element element);
std::string c_type(Element element);  // as it is stored: "unsigned short" for 16-bit floats
std::string c_type(Kind kind);
std::string load_text(Element element, const std::string& stored);                   // stored -> kind_of(element)
std::string store_text(Element element, Kind from, const std::string& computed);     // kind -> stored
std::string store_text(const Operand& out, Kind from, const std::string& computed);  // rounded, where `out` is
std::string convert_text(Kind from, Kind to, const std::string& computed);

// Returns the name of a kernel of operator `stem`. Kernels that do the same have the same text, and are compiled once.
std::string kernel_name(const std::string& stem);

// Returns functions that the texts above use.
std::string generated_prelude();

// Text of a kernel over the elements of `out`: `body` sets `r`, of kind `kind`, from the coordinates c0, c1, ... (by axis of out's shape)
// and operands x0, x1, ... Where out is padded the padding is set to zero.
struct ElementKernel {
  Operand out;
  std::vector<Operand> in;
  Kind kind = Kind::number;
  std::string body;
};
Launch element_kernel(const std::string& stem, const ElementKernel& kernel);

// Copies to channels last if a pixel takes 4, 8 or 16 bytes: a thread for each pixel, which reads its channels.
Launch pixel_kernel(const Operand& in, const Operand& out);

// Returns "x2[c0 * 64 + c1]" loaded: operand `index` at coordinates given as texts by axis; sizes of 1 are repeated.
std::string element_at(const std::vector<Operand>& in, size_t index, const std::vector<std::string>& coordinates);
// Returns the operand at out's own coordinates, broadcast as ONNX does: its axes are out's last ones.
std::string element_here(const std::vector<Operand>& in, size_t index, const Shape& out);
std::vector<std::string> coordinates(size_t rank);  // "c0", "c1", ...

// Numbers known at load, as an operand of one axis. T is how `element` is stored.
template <typename T>
Operand table(Lowering& lowering, Element element, const std::vector<T>& numbers) {
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
  const Shape shape{static_cast<int64_t>(numbers.size())};
  return {lowering.constant_bytes({bytes, bytes + numbers.size() * sizeof(T)}), plain_form(element, shape), shape, {1}};
}

// Launches `threads` threads in all, one for each of `count`; the grid is as large as needed.
Launch launch_over(const std::string& entry, std::string source, int64_t count, size_t buffers, unsigned threads = 256);

}  // namespace deepgap::gpu
