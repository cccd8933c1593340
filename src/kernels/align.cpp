#include "kernels/align.h"

#include <algorithm>
#include <cstddef>

namespace deepgap {
namespace {

bool same(const Kernel& a, const Kernel& b) { return a.grid == b.grid && a.block == b.block && a.name == b.name; }

// Lengths of the longest common sequences of all ends of both.
class Table {
 public:
  Table(size_t rows, size_t columns) : columns_(columns + 1), cells_((rows + 1) * (columns + 1)) {}
  uint32_t& at(size_t row, size_t column) { return cells_[row * columns_ + column]; }

 private:
  size_t columns_;
  std::vector<uint32_t> cells_;
};

constexpr size_t most_cells = size_t{1} << 26;

void by_longest(const std::vector<Kernel>& from, std::vector<Kernel>& to) {
  Table table(from.size(), to.size());
  for (size_t i = from.size(); i-- > 0;)
    for (size_t j = to.size(); j-- > 0;)
      table.at(i, j) = same(from[i], to[j]) ? table.at(i + 1, j + 1) + 1 : std::max(table.at(i + 1, j), table.at(i, j + 1));
  for (size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    if (same(from[i], to[j])) {
      to[j++].layer = from[i++].layer;
    } else if (table.at(i + 1, j) >= table.at(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
}

// For sequences whose table would not fit: what is the same at the same place of both.
void one_by_one(const std::vector<Kernel>& from, std::vector<Kernel>& to) {
  size_t i = 0;
  for (Kernel& kernel : to)
    if (i < from.size() && same(from[i], kernel)) kernel.layer = from[i++].layer;
}

}  // namespace

double assign_layers(const Trace& announced, Trace& plain) {
  plain.layers = announced.layers;
  for (Kernel& kernel : plain.kernels) kernel.layer = -1;
  if (announced.kernels.size() * plain.kernels.size() <= most_cells)
    by_longest(announced.kernels, plain.kernels);
  else
    one_by_one(announced.kernels, plain.kernels);
  Nanoseconds all = 0, known = 0;
  for (const Kernel& kernel : plain.kernels) {
    all += kernel.ns();
    if (kernel.layer >= 0) known += kernel.ns();
  }
  return all == 0 ? 0 : static_cast<double>(known) / static_cast<double>(all);
}

}  // namespace deepgap
