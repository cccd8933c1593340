// Kernels that need all elements of a row at once, such as a softmax: a block of threads for each row, which reads it once where it fits in
// registers.
#pragma once

#include "engine/gpu/generated.h"

#include <string>
#include <vector>

namespace deepgap::gpu {

// A row is what the axes `reduced` span for each place of the others; elements are numbers (float). `text` is the kernel's middle: it finds
// v[0..E) (E elements of the row for this thread, `valid(j)` says which are there), functions block_sum(float) and block_max(float), the
// row's coordinates c0.. for axes that are not reduced, and sets v to the result. `count` is the row's length. coordinates_of(k) text: the
// coordinates of element k are computed in the macro ROW_PLACE(k), which `text` may use to read more operands.
struct RowKernel {
  Operand out;
  std::vector<Operand> in;  // the first is the row's
  std::vector<size_t> reduced;
  std::string text;
};
Launch row_kernel(const std::string& stem, const RowKernel& kernel);

// Returns the form of a result of such a kernel: of the same order as the operand's if that has no padding.
Form row_form(const Operand& in, const Shape& shape, Element element);

}  // namespace deepgap::gpu
