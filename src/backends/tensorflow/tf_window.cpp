#include "backends/tensorflow/tf_window.h"

#include <algorithm>

namespace deepgap {
namespace {

void widen(TfWindow& w) {
  for (auto* ones : {&w.kernel, &w.strides, &w.dilations, &w.in, &w.out}) ones->insert(ones->begin(), 1);
  for (auto* zeros : {&w.begins, &w.ends}) zeros->insert(zeros->begin(), 0);
  w.widened = true;
}

}  // namespace

bool pads_as_same(const TfWindow& w) {
  for (size_t i = 0; i < w.rank(); ++i) {
    const int64_t positions = (w.in[i] + w.strides[i] - 1) / w.strides[i];
    const int64_t total = std::max<int64_t>((positions - 1) * w.strides[i] + w.extent(i) - w.in[i], 0);
    if (w.out[i] != positions || w.begins[i] != total / 2 || w.ends[i] != total - total / 2) return false;
  }
  return true;
}

TfWindow tf_window(const TfCall& call, const std::vector<int64_t>& kernel) {
  TfWindow w{node_window(call, kernel)};
  if (w.rank() == 1) widen(w);
  return w;
}

}  // namespace deepgap
