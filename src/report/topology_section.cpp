// Where the GPUs hang: a picture, their copy rates, and the path between each pair.
#include "report/gpu_topology.h"
#include "report/html.h"
#include "report/sections.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

std::string rate_cell(const std::optional<RateRange>& rate) {
  return fmt::format("<td class=\"num\">{}</td>", rate ? rate_words(*rate) : "");
}

std::string head(const std::vector<std::string>& titles) {
  std::string html = "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>";
  for (const std::string& title : titles) html += "<th scope=\"col\">" + title + "</th>";
  return html + "</tr></thead><tbody>\n";
}

std::string gpu_table(const GpuTopology& topology) {
  const std::string together = topology.gpus.front().gpus_together;
  std::vector<std::string> titles{"GPU", "Name", "NUMA node", "Near CPUs", "Link", "h2d<span>GB/s</span>", "d2h<span>GB/s</span>"};
  if (!together.empty())
    for (const char* way : {"h2d", "d2h"}) titles.push_back(fmt::format("{}, {} GPUs<span>GB/s each</span>", way, html_escaped(together)));
  std::string html = head(titles);
  for (const PlacedGpu& gpu : topology.gpus) {
    html += fmt::format("<tr><td>cuda:{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", gpu.number, html_escaped(gpu.name),
                        html_escaped(gpu.numa_node), html_escaped(gpu.near_cpus), html_escaped(gpu.link()));
    html += rate_cell(gpu.h2d) + rate_cell(gpu.d2h);
    if (!together.empty()) html += rate_cell(gpu.h2d_together) + rate_cell(gpu.d2h_together);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>";
}

std::string path_cell(const PlacedGpu& from, const PlacedGpu& to) {
  if (from.number == to.number) return "<td>&ndash;</td>";
  const auto path = from.paths.find(to.number);
  const auto rate = from.copies_to.find(to.number);
  return fmt::format("<td>{}<small>{}</small></td>", path == from.paths.end() ? "" : html_escaped(path->second),
                     rate == from.copies_to.end() ? "" : rate_words(rate->second) + " GB/s");
}

std::string path_table(const GpuTopology& topology) {
  std::vector<std::string> titles{"From"};
  for (const PlacedGpu& to : topology.gpus) titles.push_back(fmt::format("to cuda:{}", to.number));
  std::string html = head(titles);
  for (const PlacedGpu& from : topology.gpus) {
    html += fmt::format("<tr><td>cuda:{}</td>", from.number);
    for (const PlacedGpu& to : topology.gpus) html += path_cell(from, to);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>";
}

}  // namespace

std::string topology_section(const View& view) {
  const auto topology = gpu_topology_of(view.results.environment);
  if (!topology) return {};
  const std::string svg = gpu_topology_svg(*topology);
  const bool measured = topology->gpus.front().h2d.has_value();
  std::string html = "<section id=\"topology\"><h2>GPU topology</h2><p class=\"aside\">";
  html +=
      measured
          ? "Rates are of page-locked memory in GB/s, measured by <code>deepgap devices --copies</code>: h2d from host to GPU, d2h back."
          : "No copy rates are known. <code>deepgap devices --copies</code> measures them for the results that follow.";
  html += "</p>" + (svg.empty() ? "" : "<figure class=\"wide\">" + svg + "</figure>") + gpu_table(*topology);
  html +=
      "<p class=\"aside\">Paths as <code>nvidia-smi topo -m</code> names them. NV<i>n</i>: <i>n</i> NVLinks. PIX: one PCIe switch. PXB: "
      "several. "
      "PHB: a PCIe host bridge. NODE: within a NUMA node. SYS: between NUMA nodes.</p>";
  return html + path_table(*topology) + "</section>\n";
}

}  // namespace deepgap
