#include "analysis/lines.h"
#include "analysis/words.h"
#include "report/best_table.h"
#include "report/html.h"
#include "report/page.h"
#include "report/view.h"
#include "site/site.h"

#include <fmt/format.h>
#include <packed_site.h>

namespace deepgap {
namespace {

std::string_view own_style() {
  for (const auto& [name, text] : packed_site()) {
    if (name == "site.css") return text;
  }
  return {};
}

std::string lede(const Results& results, const std::string& source) {
  std::string text =
      count_of(static_cast<int64_t>(results.points.size()), "point", "points") + " of " + count_of(results.records, "record", "records");
  if (results.first_started_unix_ns != 0)
    text += fmt::format(", measured {} to {}", format_time(results.first_started_unix_ns), format_time(results.last_started_unix_ns));
  if (!source.empty()) text += ", from " + source;
  return "<p class=\"lede\">" + html_escaped(text) + ".</p>";
}

}  // namespace

std::string site_page(const Results& results, const SiteOptions& options, const std::string& data) {
  const View view{results, arrange(results.points), {}, {}, {}, {}, {}, {}, {}};
  const std::string best = best_table(view);
  PageParts page;
  page.eyebrow = "deepgap results";
  page.title = options.title;
  page.lede = lede(results, options.source);
  page.own_style = own_style();
  page.sections =
      "<div id=\"explore\"></div>\n<section id=\"best\"><h2>Best results</h2>\n<noscript><p class=\"aside\">With scripts, this page also "
      "filters, sorts and draws every point.</p></noscript>\n" +
      (best.empty() ? std::string("<p>No point has a usable result.</p>") : best) + "</section>\n";
  page.script_files = {data + "/site.js", data + "/index-0.js"};
  if (!options.source.empty()) page.footer = " from " + html_escaped(options.source);
  return html_page(page);
}

}  // namespace deepgap
