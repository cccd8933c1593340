#include "plan/duels.h"

#include "base/messages.h"
#include "plan/point_fields.h"
#include "record/duel_set.h"
#include "record/load_axis.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr size_t most_contenders = 16;
constexpr Nanoseconds usual_budget = 120'000'000'000;

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, cause); }

void require_turns(const Point& point) {
  if (!scenario_traits(point.scenario).one_by_one)
    fail(fmt::format("--duel interleaves single queries: use scenario batch or single-stream, not {}", point.scenario));
}

}  // namespace

void check_duel(const Grid& grid) {
  for (const Axis& axis : grid.axes) {
    if (axis.name == "duel" || axis.name == "contender")
      fail(fmt::format("'{}' cannot be set; --duel AXIS says what takes turns", axis.name));
  }
  if (grid.duel.empty()) return;
  const Axis* axis = find_axis(grid.axes, grid.duel);
  if (axis == nullptr && grid.duel.find(',') != std::string::npos)
    fail(fmt::format("--duel {}: compare along one axis; every choice of the other axes is a comparison of its own", grid.duel));
  if (axis == nullptr && !is_point_field(grid.duel))
    fail(fmt::format(
        "--duel {0}: give it two values with --axis {0}=A,B, or compare along another axis, such as backend, model or precision{1}",
        grid.duel, did_you_mean(grid.duel, point_field_names())));
  if (axis == nullptr || axis->values.size() < 2)
    fail(fmt::format("--duel {}: the axis has {}; a comparison needs two or more, such as --duel backend -e native,onnxruntime", grid.duel,
                     axis == nullptr || axis->values.empty() ? "no value" : "one value, " + axis->values.front()));
  if (axis->values.size() > most_contenders)
    fail(fmt::format("--duel {}: {} arms; at most {}", grid.duel, axis->values.size(), most_contenders));
  if (grid.duel == "task" || grid.duel == "scenario" || grid.duel == "processes")
    fail(fmt::format("--duel {}: all arms do the same work", grid.duel));
}

StoppingSettings duel_stopping(const Grid& grid) {
  StoppingSettings stopping = grid.stopping;
  stopping.name = "duel";
  stopping.interval = grid.margin;
  if (!grid.own_budget) stopping.budget = usual_budget;
  const int64_t starts = int64_t{grid.repeats} * grid.sweeps;
  stopping.budget /= starts;
  if (stopping.duration) *stopping.duration /= starts;
  return stopping;
}

std::vector<Point> contenders_of_choice(const std::vector<Axis>& others, const std::vector<std::string>& choice, const Axis& contenders,
                                        int cpus) {
  std::vector<Point> points;
  for (const std::string& value : contenders.values) {
    Point& point = points.emplace_back();
    point.threads = cpus;
    for (size_t i = 0; i < others.size(); ++i) set_on_point(point, others[i].name, choice[i], cpus);
    set_on_point(point, contenders.name, value, cpus);
    require_turns(point);
  }
  join_duel(points, contenders.name, contenders.values);
  return points;
}

}  // namespace deepgap
