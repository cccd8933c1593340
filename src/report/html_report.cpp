#include "report/html.h"
#include "report/profile_page.h"
#include "report/report.h"
#include "report/sections.h"
#include "report/style.h"

namespace deepgap {

std::string html_report(const Results& results, const ReportOptions& options) {
  const View view = make_view(results);
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + html_escaped(options.title) +
                     "</title>\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<meta name=\"generator\" content=\"deepgap\">\n"
                     // Nothing may be loaded, whatever a Store says.
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src "
                     "'unsafe-inline'\">\n<style>" +
                     report_style() + (options.profiles.drawn.empty() ? std::string() : std::string(profile_style())) +
                     "</style></head>\n<body>\n";
  html += header_section(view, options) + "\n<main>\n";
  html += summary_section(view) + "\n" + take_section(view) + fronts_section(view, options.fronts) + pictures_section(view) + "\n" +
          devices_section(view) + load_section(view) + dispatcher_section(view) + stages_section(view) + tenants_section(view) +
          comparisons_section(view) + duels_section(view) + run_sequences_section(options.sequences) + profiles_section(options.profiles) +
          over_time_section(options.tracks) + table_section(view) + "\n" + failures_section(view) + "\n";
  html += environment_section(view) + "\n" + method_section(view) + "\n</main>\n";
  html += "<footer>Made by deepgap" + (options.source.empty() ? "" : " from " + html_escaped(options.source)) + ".</footer>\n";
  html += "<script>" + std::string(report_script()) + "</script>\n</body></html>\n";
  return html;
}

}  // namespace deepgap
