#include "report/html.h"
#include "report/page.h"
#include "report/profile_page.h"
#include "report/report.h"
#include "report/sections.h"
#include "report/style.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

struct Section {
  const char* id;    // id of its <section>
  const char* link;  // how the contents name it; empty: they do not
  std::string (*html)(const View& view, const ReportOptions& options);
};

template <std::string (*section)(const View&)>
std::string of_view(const View& view, const ReportOptions& /*options*/) {
  return section(view);
}

// The sections in their order on the page.
constexpr Section sections[] = {
    {"summary", "Summary", of_view<summary_section>},
    {"take", "Recommendations", of_view<take_section>},
    {"fronts", "", [](const View& view, const ReportOptions& options) { return fronts_section(view, options.fronts); }},
    {"pictures", "Charts", of_view<pictures_section>},
    {"devices", "Devices", of_view<devices_section>},
    {"topology", "GPU topology", of_view<topology_section>},
    {"load", "Load", of_view<load_section>},
    {"dispatcher", "Batches and queue", of_view<dispatcher_section>},
    {"stages", "End to end", of_view<stages_section>},
    {"tenants", "Tenants", of_view<tenants_section>},
    {"comparisons", "Against each other", of_view<comparisons_section>},
    {"duels", "Interleaved comparisons", of_view<duels_section>},
    {"sequences", "Not valid", [](const View&, const ReportOptions& options) { return run_sequences_section(options.sequences); }},
    {"profiles", "Where the time goes", [](const View&, const ReportOptions& options) { return profiles_section(options.profiles); }},
    {"time", "Over time", [](const View&, const ReportOptions& options) { return over_time_section(options.tracks); }},
    {"points", "Points", of_view<table_section>},
    {"failures", "Failures and refusals", of_view<failures_section>},
    {"environment", "Environment", of_view<environment_section>},
    {"method", "How the numbers are computed", of_view<method_section>},
};

}  // namespace

std::string html_report(const Results& results, const ReportOptions& options) {
  const View view = make_view(results);
  PageParts page;
  page.title = options.title;
  std::string contents;
  for (const Section& section : sections) {
    const std::string html = section.html(view, options);
    if (html.empty()) continue;
    page.sections += html + "\n";
    if (*section.link != 0) contents += fmt::format("<a href=\"#{}\">{}</a>", section.id, section.link);
  }
  page.header = header_section(view, options, contents);
  if (!options.source.empty()) page.footer = " from " + html_escaped(options.source);
  if (!options.profiles.drawn.empty()) page.own_style = profile_style();
  const std::string script = report_script();
  page.script = script;
  return html_page(page);
}

}  // namespace deepgap
