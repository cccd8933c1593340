#include "analysis/duel/arm.h"

#include "record/duel_set.h"

namespace deepgap {

std::optional<Arm> arm_of(const PointSummary& summary) {
  const Point& point = summary.point;
  if (const auto place = contender_place(point))
    return Arm{
        place->number, duel_axis(point), contender_name(point), first_contender_name(point), duel_of(point), summary.stopping.interval,
        true};
  const InterleavedPlace& place = summary.interleaved;
  if (place.number == 0) return std::nullopt;
  Point common = without_engine(point);
  common.options["interleaved"] = place.arms;
  return Arm{place.number,      "backend",          point.backend, place.arms.substr(0, place.arms.find(" + ")),
             std::move(common), interleaved_margin, false};
}

}  // namespace deepgap
