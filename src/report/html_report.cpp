#include "report/html.h"
#include "report/page.h"
#include "report/profile_page.h"
#include "report/report.h"
#include "report/sections.h"
#include "report/style.h"

namespace deepgap {

std::string html_report(const Results& results, const ReportOptions& options) {
  const View view = make_view(results);
  PageParts page;
  page.title = options.title;
  page.header = header_section(view, options);
  page.sections = summary_section(view) + "\n" + take_section(view) + fronts_section(view, options.fronts) + pictures_section(view) + "\n" +
                  devices_section(view) + load_section(view) + dispatcher_section(view) + stages_section(view) + tenants_section(view) +
                  comparisons_section(view) + duels_section(view) + run_sequences_section(options.sequences) +
                  profiles_section(options.profiles) + over_time_section(options.tracks) + table_section(view) + "\n" +
                  failures_section(view) + "\n" + environment_section(view) + "\n" + method_section(view) + "\n";
  if (!options.source.empty()) page.footer = " from " + html_escaped(options.source);
  if (!options.profiles.drawn.empty()) page.own_style = profile_style();
  const std::string script = report_script();
  page.script = script;
  return html_page(page);
}

}  // namespace deepgap
