#include "report/timeline_chart.h"

#include "kernels/families.h"
#include "report/axis.h"
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace deepgap {
namespace {

constexpr double left = 92, right_margin = 14, row_height = 26, row_gap = 8, top = 8, letter = 6.0;
constexpr double least_width = 900, most_width = 6000, width_of_kernel = 26;

struct Bar {
  double row = 0;
  Nanoseconds begin = 0, end = 0;
  std::string name, tip;
  std::string style;
};

class Drawing {
 public:
  Drawing(const Trace& trace, const std::vector<std::string>& families) : trace_(trace) {
    for (size_t i = 0; i < families.size(); ++i) styles_[families[i]] = static_cast<int>(i);
    add_rows();
    add_bars();
  }

  std::string svg() const {
    if (bars_.empty()) return {};
    Nanoseconds begin = INT64_MAX, end = 0;
    for (const Bar& bar : bars_) {
      begin = std::min(begin, bar.begin);
      end = std::max(end, bar.end);
    }
    const double width = std::clamp(width_of_kernel * static_cast<double>(trace_.kernels.size()), least_width, most_width);
    const double span = std::max<double>(static_cast<double>(end - begin), 1);
    const auto at = [&](Nanoseconds time) { return left + static_cast<double>(time - begin) / span * (width - left - right_margin); };
    const double height = top + static_cast<double>(rows_.size()) * (row_height + row_gap) + 24;
    std::string out = fmt::format(
        "<svg class=\"chart timeline\" viewBox=\"0 0 {0:.0f} {1:.0f}\" style=\"width:{0:.0f}px\" role=\"img\" aria-label=\"Timeline of one "
        "batch on "
        "the device\">",
        width, height);
    for (size_t i = 0; i < rows_.size(); ++i)
      out += fmt::format("<text class=\"row\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 8,
                         y_of(static_cast<double>(i)) + 17, html_escaped(rows_[i]));
    out += ticks(at, begin, end, height);
    for (const Bar& bar : bars_) out += draw(bar, at);
    return out + "</svg>";
  }

 private:
  static double y_of(double row) { return top + row * (row_height + row_gap); }
  void add_rows() {
    const bool has_layers = std::any_of(trace_.kernels.begin(), trace_.kernels.end(), [](const Kernel& k) { return k.layer >= 0; });
    if (has_layers) rows_.emplace_back("layers");
    std::set<int64_t> streams;
    for (const Kernel& kernel : trace_.kernels) streams.insert(kernel.stream);
    for (const int64_t stream : streams) {
      row_of_stream_[stream] = static_cast<double>(rows_.size());
      rows_.push_back(streams.size() == 1 ? "kernels" : fmt::format("stream {}", stream));
    }
    if (!trace_.copies.empty()) {
      copy_row_ = static_cast<double>(rows_.size());
      rows_.emplace_back("copies");
    }
    if (!trace_.calls.empty()) {
      call_row_ = static_cast<double>(rows_.size());
      rows_.emplace_back("host");
    }
    layer_row_ = has_layers ? 0 : -1;
  }
  static std::string tip(const std::string& name, Nanoseconds begin, Nanoseconds end, const std::string& more) {
    return fmt::format("{}\n{:.2f} us, from {:.2f} us{}{}", name, static_cast<double>(end - begin) / 1e3, static_cast<double>(begin) / 1e3,
                       more.empty() ? "" : "\n", more);
  }
  void add_layers() {
    for (size_t i = 0; i < trace_.kernels.size();) {
      const int layer = trace_.kernels[i].layer;
      size_t j = i;
      Nanoseconds end = 0;
      for (; j < trace_.kernels.size() && trace_.kernels[j].layer == layer; ++j) end = std::max(end, trace_.kernels[j].end);
      if (layer >= 0) {
        const TracedLayer& of = trace_.layers[static_cast<size_t>(layer)];
        bars_.push_back({layer_row_, trace_.kernels[i].begin, end, of.name, tip(of.name, trace_.kernels[i].begin, end, of.op), "layer"});
      }
      i = j;
    }
  }
  void add_bars() {
    if (layer_row_ >= 0) add_layers();
    for (const Kernel& k : trace_.kernels) {
      const auto found = styles_.find(k.family);
      bars_.push_back({row_of_stream_.at(k.stream), k.begin, k.end, short_kernel_name(k.name),
                       tip(k.name, k.begin, k.end,
                           fmt::format("{}; grid {}x{}x{}, block {}, {} registers", k.family, k.grid[0], k.grid[1], k.grid[2],
                                       k.block[0] * k.block[1] * k.block[2], k.registers)),
                       fmt::format("s{}", (found == styles_.end() ? 7 : found->second) % 8)});
    }
    for (const DeviceCopy& copy : trace_.copies)
      bars_.push_back(
          {copy_row_, copy.begin, copy.end, copy.what, tip(copy.what, copy.begin, copy.end, fmt::format("{} bytes", copy.bytes)), "copy"});
    for (const HostCall& call : trace_.calls)
      bars_.push_back({call_row_, call.begin, call.end, call.name, tip(call.name, call.begin, call.end, ""), "call"});
  }
  template <typename At>
  std::string ticks(const At& at, Nanoseconds begin, Nanoseconds end, double height) const {
    const double us = static_cast<double>(end - begin) / 1e3;
    const DrawnAxis axis(Scale::linear, 0, std::max(us, 1e-3), 0, at(end) - left, 90);
    std::string out = "<g class=\"tick\">";
    for (const Tick& tick : axis.ticks()) {
      if (tick.value > us) continue;
      const double x = at(begin + static_cast<Nanoseconds>(tick.value * 1e3));
      out += fmt::format("<path d=\"M{0:.1f} {1}V{2:.1f}\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4} us</text>", x, top,
                         height - 20, height - 6, tick.text);
    }
    return out + "</g>";
  }
  template <typename At>
  std::string draw(const Bar& bar, const At& at) const {
    const double x = at(bar.begin), wide = std::max(at(bar.end) - x, 0.6), y = y_of(bar.row);
    std::string out = fmt::format("<g class=\"bar {}\"><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"/><title>{}</title>",
                                  bar.style, x, y, wide, row_height, html_escaped(bar.tip));
    const auto letters = static_cast<size_t>(std::max(0.0, (wide - 6) / letter));
    if (letters >= 4)
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + 3, y + 17, html_escaped(shortened(bar.name, letters)));
    return out + "</g>";
  }

  const Trace& trace_;
  std::map<std::string, int> styles_;
  std::map<int64_t, double> row_of_stream_;
  std::vector<std::string> rows_;
  std::vector<Bar> bars_;
  double layer_row_ = -1, copy_row_ = 0, call_row_ = 0;
};

}  // namespace

std::string timeline_svg(const Trace& trace, const std::vector<std::string>& families) { return Drawing(trace, families).svg(); }

}  // namespace deepgap
