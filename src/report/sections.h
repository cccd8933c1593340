// The sections of the HTML report. Each gives a whole <section> or <header>, or nothing when there is nothing to show; sections know the
// View alone. Their order and their links stand in one table (html_report.cpp).
#pragma once

#include "report/report.h"
#include "report/view.h"

#include <functional>
#include <string>

namespace deepgap {

// `contents`: links to the sections that are shown.
std::string header_section(const View& view, const ReportOptions& options, const std::string& contents);
std::string summary_section(const View& view);
std::string take_section(const View& view);
std::string take_markdown(const View& view);  // its tables
std::string fronts_section(const View& view, const FrontOrder& order);
std::string fronts_markdown(const View& view, const FrontOrder& order);
std::string pictures_section(const View& view);
std::string devices_section(const View& view);
// Where several GPUs hang, and how fast data reach them.
std::string topology_section(const View& view);
std::string load_section(const View& view);
std::string dispatcher_section(const View& view);
std::string stages_section(const View& view);
std::string tenants_section(const View& view);
std::string duels_section(const View& view);
// Ways of running a model against one of them, as forest plots.
std::string comparisons_section(const View& view);
std::string table_section(const View& view);
std::string failures_section(const View& view);
std::string environment_section(const View& view);
std::string method_section(const View& view);

// A heading with its charts, given as one text, for each Workload that `pictures` has some for; at most report_caps.workloads of them.
struct WorkloadPictures {
  std::string figures;
  size_t left_out = 0;  // Points or Lines that are in the table alone
};
std::string drawn_workloads(const View& view, const std::function<WorkloadPictures(const Workload&)>& pictures);

// <ul> of statements with links to their rows; those beyond `open` are folded away, those beyond the cap counted.
std::string statements_list(const View& view, const std::vector<Statement>& statements, size_t open, const std::string& css_class);

// The facts about the machine that a reader wants first, in plain words: pairs of name and value; only those that are known.
std::vector<std::pair<std::string, std::string>> machine_facts(const Results& results);

}  // namespace deepgap
