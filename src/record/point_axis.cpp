#include "record/point_axis.h"

namespace deepgap {

void forget_axis(Point& point, const std::string& axis) {
  if (axis == "model" || axis == "weights") point.model_hash.clear();
  if (axis == "task") point.task = {};
  if (axis == "model") point.model.clear();
  if (axis == "weights") point.weights.clear();
  if (axis == "dataset") point.dataset.clear();
  if (axis == "backend") point.backend.clear();
  if (axis == "device") point.placement = {};
  if (axis == "processes") point.placement.processes = 1;
  if (axis == "precision") point.precision = {};
  if (axis == "batch") point.batch = 0;
  if (axis == "scenario") point.scenario.clear();
  if (axis == "threads") point.threads = 0;
  point.options.erase(axis);
}

}  // namespace deepgap
