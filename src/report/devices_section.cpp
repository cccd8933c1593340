// One device over another, precision by precision and batch by batch.
#include "report/html.h"
#include "report/page.h"
#include "report/sections.h"

#include "analysis/device_ratios.h"
#include "analysis/point_labels.h"
#include "analysis/ratio_text.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace deepgap {
namespace {

std::string ratio_cell(const DeviceRatio& ratio) {
  const auto& interval = ratio.throughput.interval;
  const RatioText text = interval ? ratio_text(ratio.throughput.ratio, *interval)
                                  : RatioText{format_ratio(ratio.throughput.ratio), why_too_few(ratio.throughput)};
  const bool open = interval && !ratio.throughput.separable();
  return fmt::format("<td class=\"num\">{}<small>{}{}</small></td>", text.ratio, text.range, open ? ", no significant difference" : "");
}

std::string batch_words(const DeviceRatio& ratio) {
  return fmt::format("batch {} and {}", ratio.first->point.batch, ratio.second->point.batch);
}

// A row a batch, a column a precision.
std::string table(const Workload& workload, const DevicePair& pair) {
  std::set<std::string> precisions;
  std::map<std::pair<bool, int64_t>, std::map<std::string, const DeviceRatio*>> rows;  // each at its best, batch 0, comes last
  for (const DeviceRatio& ratio : pair.ratios) {
    precisions.insert(ratio.precision);
    rows[{ratio.batch == 0, ratio.batch}][ratio.precision] = &ratio;
  }
  std::string html =
      fmt::format("<h3>{}, {}: {} over {}</h3><div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">Batch</th>",
                  html_escaped(workload.label), html_escaped(pair.label), html_escaped(pair.device), html_escaped(pair.other));
  for (const std::string& precision : precisions) html += "<th scope=\"col\" class=\"num\">" + html_escaped(precision) + "</th>";
  html += "</tr></thead><tbody>\n";
  for (const auto& [key, cells] : rows) {
    html += "<tr><td>" + (key.first ? std::string("each at its best") : std::to_string(key.second)) + "</td>";
    for (const std::string& precision : precisions) {
      const auto found = cells.find(precision);
      std::string cell = found == cells.end() ? "<td></td>" : ratio_cell(*found->second);
      if (key.first && found != cells.end())
        cell.insert(cell.find("</small>"), (cell.find("<small></small>") == std::string::npos ? ", " : "") + batch_words(*found->second));
      html += cell;
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>";
}

}  // namespace

std::string devices_section(const View& view) {
  std::string tables;
  size_t shown = 0, left_out = 0;
  for (const Workload& workload : view.workloads) {
    for (const DevicePair& pair : device_pairs(workload)) {
      if (shown == report_caps.workloads) {
        ++left_out;
        continue;
      }
      tables += table(workload, pair);
      ++shown;
    }
  }
  if (shown == 0) return {};
  tables += left_out_note(left_out, "more pair of devices is left out", "more pairs of devices are left out");
  return "<section id=\"devices\"><h2>One device over another</h2><p class=\"aside\">Ratios of throughput with their 95 % intervals, "
         "everything but the device being alike.</p>" +
         tables + "</section>\n";
}

}  // namespace deepgap
