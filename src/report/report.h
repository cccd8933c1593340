// A Store's results as one self-contained document. Never measures, opens no file and no connection; what it is given is all it sees.
// What does not fit the caps (report/view.h) is counted and said in the document, never dropped in silence. Pure functions.
#pragma once

#include "analysis/decide/front_order.h"
#include "analysis/results.h"
#include "report/over_time.h"
#include "report/profiles_section.h"
#include "report/run_sequence.h"

#include <string>
#include <vector>

namespace deepgap {

struct ReportOptions {
  std::string title = "deepgap report";
  std::string source;              // the Store's name as the document shows it; may be empty
  std::vector<Track> tracks = {};  // shown over time; only HTML has charts
  RunSequences sequences = {};     // runs that are not valid; likewise
  ReportProfiles profiles = {};    // likewise
  FrontOrder fronts = {};          // charts of any two metrics; in Markdown tables of what nothing beats
};

// One HTML file: style sheet, charts and a small script for sorting inside; readable without the script.
std::string html_report(const Results& results, const ReportOptions& options);
std::string markdown_report(const Results& results, const ReportOptions& options);

}  // namespace deepgap
