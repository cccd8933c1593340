// Tenants beside each other: each alone, together, and the ratio.
#include "report/forest.h"
#include "report/html.h"
#include "report/page.h"
#include "report/sections.h"

#include "analysis/interference.h"
#include "analysis/ratio_text.h"
#include "analysis/words.h"
#include "record/tenant_set.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::string value_cell(const PointSummary& point, const char* metric) {
  const MetricSummary* found = point.find(metric);
  if (found == nullptr) return "<td class=\"num\"></td>";
  return fmt::format("<td class=\"num\">{}<small>{}</small></td>", html_escaped(format_estimate(found->estimate)),
                     html_escaped(format_interval(*found)));
}

std::string ratio_cell(const std::optional<Comparison>& comparison) {
  if (!comparison) return "<td class=\"num\"></td>";
  if (!comparison->interval) return fmt::format("<td class=\"num\">{}<small></small></td>", format_ratio(comparison->ratio));
  const RatioText text = ratio_text(comparison->ratio, *comparison->interval);
  return fmt::format("<td class=\"num\">{}<small>{}</small></td>", text.ratio, text.range);
}

std::string row(const TenantInterference& tenant) {
  std::string html = fmt::format("<tr><td>{}</td>", html_escaped(tenant_name(tenant.together->point)));
  for (const auto& [metric, ratio] : {std::pair("throughput", &tenant.throughput), std::pair("latency_p99_ms", &tenant.latency_p99)})
    html += value_cell(*tenant.alone, metric) + value_cell(*tenant.together, metric) + ratio_cell(*ratio);
  return html + "</tr>\n";
}

// Draws what each tenant keeps of its throughput alone.
std::string picture(const TenantSet& set) {
  Forest forest{"Throughput together over throughput alone", "times its throughput alone", 0, {}};
  for (const TenantInterference& tenant : set.tenants) {
    if (!tenant.throughput) continue;
    ForestRow row{tenant_name(tenant.together->point), tenant.throughput->ratio,  {}, {},
                  !tenant.throughput->separable(),     interference_words(tenant)};
    if (tenant.throughput->interval) {
      row.low = tenant.throughput->interval->low;
      row.high = tenant.throughput->interval->high;
    }
    forest.rows.push_back(std::move(row));
  }
  const std::string svg = forest_svg(forest);
  return svg.empty() ? "" : "<figure class=\"wide\">" + svg + "</figure>";
}

std::string table(const TenantSet& set) {
  std::string html = fmt::format("<h3>{}</h3>{}<div class=\"scroll\" tabindex=\"0\"><table class=\"points\"><thead><tr>",
                                 html_escaped(set.label()), picture(set));
  for (const char* title : {"Tenant", "Alone<span>items/s</span>", "Together<span>items/s</span>", "Ratio", "p99 alone<span>ms</span>",
                            "p99 together<span>ms</span>", "Ratio"})
    html += fmt::format("<th scope=\"col\"{}>{}</th>", std::string_view(title) == "Tenant" ? "" : " class=\"num\"", title);
  html += "</tr></thead><tbody>\n";
  for (const TenantInterference& tenant : set.tenants) html += row(tenant);
  return html + fmt::format("</tbody></table></div><p class=\"aside\">{}</p>", html_escaped(work_words(set)));
}

}  // namespace

std::string tenants_section(const View& view) {
  const std::vector<TenantSet> sets = tenant_sets(view.results.points);
  if (sets.empty()) return {};
  std::string html =
      "<section id=\"tenants\"><h2>Tenants</h2><p class=\"aside\">Each tenant was measured alone and beside the others, in processes of "
      "their "
      "own. Bars and small figures are 95 % intervals.</p>";
  for (size_t i = 0; i < sets.size() && i < report_caps.statements; ++i) html += table(sets[i]);
  return html +
         left_out_note(sets.size() - std::min(sets.size(), report_caps.statements), "more set is left out", "more sets are left out") +
         "</section>";
}

}  // namespace deepgap
