#include "backends/tensorflow/tf_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace deepgap {
namespace {

void widen(TfWindow& w) {
  for (auto* ones : {&w.kernel, &w.strides, &w.dilations, &w.in, &w.out}) ones->insert(ones->begin(), 1);
  for (auto* zeros : {&w.begins, &w.ends}) zeros->insert(zeros->begin(), 0);
  w.widened = true;
}

void set_pads(TfWindow& w, const std::vector<int64_t>& given, const std::string& automatic) {
  for (size_t i = 0; i < w.rank(); ++i) {
    if (automatic == "NOTSET") {
      w.begins[i] = given[i];
      w.ends[i] = given[i + w.rank()];
    } else if (automatic != "VALID") {
      const int64_t total = std::max<int64_t>((w.out[i] - 1) * w.strides[i] + w.extent(i) - w.in[i], 0);
      w.begins[i] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
      w.ends[i] = total - w.begins[i];
    }
  }
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
  using Ints = std::vector<int64_t>;
  const Shape in = call.shape(0), out = call.output_shape();
  const size_t rank = kernel.size();
  if (in.size() != rank + 2 || rank < 1 || rank > 3) call.refuse(fmt::format("an input of {} dimensions", in.size()));
  TfWindow w{.kernel = kernel,
             .strides = call.ints_of("strides", Ints(rank, 1)),
             .dilations = call.ints_of("dilations", Ints(rank, 1)),
             .begins = Ints(rank, 0),
             .ends = Ints(rank, 0),
             .in = Ints(in.begin() + 2, in.end()),
             .out = Ints(out.begin() + 2, out.end())};
  const Ints pads = call.ints_of("pads", Ints(2 * rank, 0));
  if (w.strides.size() != rank || w.dilations.size() != rank || pads.size() != 2 * rank)
    call.refuse("strides, dilations or pads of the wrong number");
  set_pads(w, pads, call.text_of("auto_pad", "NOTSET"));
  if (rank == 1) widen(w);
  return w;
}

}  // namespace deepgap
