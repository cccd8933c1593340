#include "record/load_axis.h"

#include "base/text.h"

namespace deepgap {

std::optional<LoadAxis> load_axis(const std::string& scenario) {
  if (scenario == "server" || scenario == "constant" || scenario == "bursty") return LoadAxis{"rate", "queries a second"};
  if (scenario == "multi-stream") return LoadAxis{"batch", "samples a query"};
  if (scenario == "concurrency") return LoadAxis{"clients", "clients"};
  return std::nullopt;
}

std::optional<double> load_of(const Point& point) {
  const auto axis = load_axis(point.scenario);
  if (!axis) return std::nullopt;
  if (axis->name == "batch") return static_cast<double>(point.batch);
  const auto option = point.options.find(axis->name);
  return option == point.options.end() ? std::nullopt : parse_double(option->second);
}

Point without_load(Point point) {
  const auto axis = load_axis(point.scenario);
  if (!axis) return point;
  if (axis->name == "batch") point.batch = 0;
  point.options.erase(axis->name);
  return point;
}

}  // namespace deepgap
