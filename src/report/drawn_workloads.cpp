#include "report/html.h"
#include "report/page.h"
#include "report/sections.h"

#include <fmt/format.h>

namespace deepgap {

std::string drawn_workloads(const View& view, const std::function<WorkloadPictures(const Workload&)>& pictures) {
  std::string html;
  size_t shown = 0, not_shown = 0;
  for (const Workload& workload : view.workloads) {
    const WorkloadPictures drawn = pictures(workload);
    if (drawn.figures.empty()) continue;
    if (shown == report_caps.workloads) {
      ++not_shown;
      continue;
    }
    ++shown;
    html += "<h3>" + html_escaped(heading_of(workload)) + "</h3><div class=\"charts\">" + drawn.figures + "</div>";
    if (drawn.left_out > 0) html += fmt::format("<p class=\"aside\">{} more are in the table.</p>", drawn.left_out);
  }
  return html + left_out_note(not_shown, "more workload is not drawn", "more workloads are not drawn");
}

}  // namespace deepgap
