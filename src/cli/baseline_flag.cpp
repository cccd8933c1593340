#include "cli/baseline_flag.h"

#include "analysis/baseline.h"
#include "cli/selection.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {

void declare_baseline(CLI::App& app, std::string& selection) {
  app.add_option(
         "--baseline", selection,
         "Add ratios to the fastest selected point of the same model, scenario and batch: \"backend=native;device=cpu;precision=fp32\"")
      ->type_name("SELECTION");
}

void compare_with_baseline(const std::string& selection, std::vector<PointSummary>& points) {
  add_scaling(points);
  if (selection.empty()) return;
  const Selection baseline(selection);
  const auto holds = [&](const PointSummary& point) {
    Record record;
    record.point = point.point;
    if (point.environment) record.environment = *point.environment;
    return baseline.holds(record);
  };
  if (add_baseline_ratios(points, holds) == 0)
    throw Error(ErrorKind::usage, fmt::format("--baseline \"{}\" selects no usable point", selection));
}

}  // namespace deepgap
