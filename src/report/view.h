// The parts that sections of a report share: the arranged Points, what the findings say, the columns of tables, the caps.
#pragma once

#include "analysis/finding.h"
#include "analysis/lines.h"
#include "analysis/results.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

// A report stays quick to open: about 10 MB at most.
struct ReportCaps {
  size_t workloads = 24;       // with charts
  size_t lines = 8;            // in one chart, the fastest
  size_t chart_points = 4000;  // in all charts of one kind
  size_t rows = 2000;          // rows in the table of points
  size_t statements = 100;     // statements in one finding
  size_t facts = 400;          // facts about the environment
};
inline constexpr ReportCaps report_caps;

// The place on a narrow page: which point it is, what one looks for first, or all else.
enum class ColumnPlace { rest, head, main };

// A column of the table of points.
struct Column {
  std::string title;
  std::string unit;  // may be empty
  bool numeric = false;
  std::function<std::string(const PointSummary&)> text;
  std::function<std::string(const PointSummary&)> small;  // under the text: an interval, a reason; may be null
  std::function<double(const PointSummary&)> sort;        // for numeric columns; NaN: nothing there
  ColumnPlace place = ColumnPlace::rest;
};

struct View {
  const Results& results;
  std::vector<Workload> workloads;
  std::vector<FindingStatements> findings;
  std::vector<const PointSummary*> rows;                   // rows of the table, at most report_caps.rows
  std::map<const PointSummary*, std::string> anchors;      // anchors of the rows, to link to
  std::map<const PointSummary*, std::string> line_labels;  // labels of the Points that are in a Workload
  std::map<std::string, int> styles;                       // styles of Lines by label, the same in every chart where there are few enough
  std::vector<Column> columns;
  std::string constants;  // what all Points share, in words: "device cpu, precision fp32"
};
View make_view(const Results& results);

// Returns the heading of a Workload: its label, and the device if all that is drawn ran on one: "resnet50 on NVIDIA H200".
std::string heading_of(const Workload& workload);

// Returns a name for each of these Points: its Line's label and its batch, with the model if they have several, so that different Points
// never look alike.
std::vector<std::string> point_names(const View& view, const std::vector<const PointSummary*>& points);

// A chart's Lines: the fastest ones, with their styles; `left_out` counts the others.
struct ShownLine {
  const Line* line;
  int style;
};
std::vector<ShownLine> shown_lines(const View& view, const Workload& workload, size_t& left_out);

}  // namespace deepgap
