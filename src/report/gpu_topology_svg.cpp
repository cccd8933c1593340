// The picture of a GpuTopology: from top to bottom memory nodes, PCIe switches, GPUs, NVLinks.
#include "analysis/words.h"
#include "report/gpu_topology.h"
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr size_t most_gpus = 8;
constexpr double width = 680, gap = 8, group_gap = 18, widest = 150;
constexpr double node_top = 6, node_height = 42, switch_top = 84, switch_height = 26, gpu_top = 146, gpu_height = 84, links_top = 262;

struct Box {
  double left = 0, right = 0;
  double middle() const { return (left + right) / 2; }
};

std::string rect(const Box& box, double top, double height) {
  return fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="4"/>)", box.left, top, box.right - box.left, height);
}
std::string words(double x, double y, const std::string& text, const char* style = "") {
  return fmt::format(R"(<text{} x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", style, x, y, html_escaped(text));
}
std::string line(double x, double from, double to) { return fmt::format(R"(<path d="M{:.1f} {:.1f}V{:.1f}"/>)", x, from, to); }

std::string rate(const char* name, const std::optional<RateRange>& range) {
  return range ? fmt::format("{} {}", name, format_significant((range->low + range->high) / 2e9, 3)) : "";
}

class Drawing {
 public:
  explicit Drawing(const GpuTopology& topology) : groups_(topology.switches()) {
    double gaps = 0;
    for (const auto& group : groups_) gaps += gap * static_cast<double>(group.size() - 1);
    gaps += group_gap * static_cast<double>(groups_.size() - 1);
    const double one = std::min(widest, (width - 2 - gaps) / static_cast<double>(topology.gpus.size()));
    double left = (width - gaps - one * static_cast<double>(topology.gpus.size())) / 2;
    for (const auto& group : groups_) {
      for (const PlacedGpu* gpu : group) {
        boxes_[gpu->number] = {left, left + one};
        left += one + gap;
      }
      left += group_gap - gap;
    }
  }

  std::string svg() const {
    std::string out = nodes() + links();
    for (const auto& group : groups_) {
      const Box around = box_of(group);
      if (group.size() > 1) {
        out += line(around.middle(), node_top + node_height, switch_top);
        out += rect(around, switch_top, switch_height) + words(around.middle(), switch_top + 17, "PCIe switch");
      }
      for (const PlacedGpu* gpu : group)
        out += line(boxes_.at(gpu->number).middle(), group.size() > 1 ? switch_top + switch_height : node_top + node_height, gpu_top) +
               draw(*gpu);
    }
    return fmt::format(R"(<svg class="chart place" viewBox="0 0 {} {}" role="img" aria-label="{}">)", width,
                       has_links() ? links_top + 40 : gpu_top + gpu_height + 4,
                       "The GPUs below their memory nodes and PCIe switches; the tables below have the same in numbers") +
           out + "</svg>";
  }

 private:
  using Group = std::vector<const PlacedGpu*>;
  Box box_of(const Group& group) const { return {boxes_.at(group.front()->number).left, boxes_.at(group.back()->number).right}; }

  std::string nodes() const {
    std::string out;
    for (size_t i = 0; i < groups_.size();) {
      size_t end = i + 1;
      const PlacedGpu& first = *groups_[i].front();
      while (end < groups_.size() && groups_[end].front()->numa_node == first.numa_node) ++end;
      const Box around{box_of(groups_[i]).left, box_of(groups_[end - 1]).right};
      out += rect(around, node_top, node_height);
      out += words(around.middle(), node_top + 18, first.numa_node.empty() ? "CPUs and memory" : "NUMA node " + first.numa_node,
                   R"( class="name")");
      if (!first.near_cpus.empty()) out += words(around.middle(), node_top + 34, shortened("CPUs " + first.near_cpus, 40));
      i = end;
    }
    return out;
  }

  std::string draw(const PlacedGpu& gpu) const {
    const Box& box = boxes_.at(gpu.number);
    std::string out = "<g class=\"gpu\"><title>" + html_escaped(gpu.name) + "</title>" + rect(box, gpu_top, gpu_height);
    out += words(box.middle(), gpu_top + 19, fmt::format("cuda:{}", gpu.number), R"( class="name")");
    double y = gpu_top + 37;
    for (const std::string& text : {gpu.link(), rate("h2d", gpu.h2d), rate("d2h", gpu.d2h)}) {
      if (!text.empty()) out += words(box.middle(), y, text);
      y += 17;
    }
    return out + "</g>";
  }

  bool linked(const PlacedGpu& a, const PlacedGpu& b) const {
    const auto found = a.paths.find(b.number);
    return found != a.paths.end() && found->second.starts_with("NV");
  }
  template <typename Visit>
  void each_pair(const Visit& visit) const {
    Group all;
    for (const Group& group : groups_) all.insert(all.end(), group.begin(), group.end());
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = i + 1; j < all.size(); ++j) visit(*all[i], *all[j]);
  }
  bool has_links() const {
    bool any = false;
    each_pair([&](const PlacedGpu& a, const PlacedGpu& b) { any = any || linked(a, b); });
    return any;
  }

  // One bar where NVLinks connect all GPUs, else an arc for each pair.
  std::string links() const {
    bool all = true;
    std::string arcs;
    each_pair([&](const PlacedGpu& a, const PlacedGpu& b) {
      if (!linked(a, b)) return void(all = false);
      const double from = boxes_.at(a.number).middle(), to = boxes_.at(b.number).middle(), top = gpu_top + gpu_height;
      arcs += fmt::format(R"(<path class="nvlink" d="M{0:.1f} {1}C{0:.1f} {2:.1f} {3:.1f} {2:.1f} {3:.1f} {1}"/>)", from, top,
                          top + 30 + 20 * (to - from) / width, to);
    });
    if (!all || arcs.empty()) return arcs;
    const Box whole{boxes_.at(groups_.front().front()->number).left, boxes_.at(groups_.back().back()->number).right};
    std::string out;
    for (const auto& [number, box] : boxes_)
      out += fmt::format(R"(<path class="nvlink" d="M{:.1f} {}V{}"/>)", box.middle(), gpu_top + gpu_height, links_top);
    return out + rect(whole, links_top, switch_height) + words(whole.middle(), links_top + 17, "NVLink between all");
  }

  std::vector<Group> groups_;
  std::map<int, Box> boxes_;  // by the number of the GPU
};

}  // namespace

std::string gpu_topology_svg(const GpuTopology& topology) { return topology.gpus.size() > most_gpus ? "" : Drawing(topology).svg(); }

}  // namespace deepgap
