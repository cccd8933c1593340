#include "worker/blamed_axis.h"

#include <exception>

namespace deepgap {
namespace {

struct Field {
  const char* name;
  void (*reset)(Point&);
};
constexpr Field fields[] = {
    {"processes", [](Point& point) { point.placement.processes = 1; }},
    {"weights", [](Point& point) { point.weights = Point{}.weights; }},
    {"dataset", [](Point& point) { point.dataset = Point{}.dataset; }},
    {"precision", [](Point& point) { point.precision = Point{}.precision; }},
    {"batch", [](Point& point) { point.batch = Point{}.batch; }},
    {"scenario", [](Point& point) { point.scenario = Point{}.scenario; }},
    {"model", [](Point& point) { point.model.clear(); }},
    {"device", [](Point& point) { point.placement.devices = Placement{}.devices; }},
    {"backend", [](Point& point) { point.backend = Point{}.backend; }},
};

}  // namespace

std::string blamed_axis(const Point& point, const std::string& mistake, const std::function<void(const Point&)>& inspect) {
  const auto same_mistake = [&](const Point& other) {
    try {
      inspect(other);
    } catch (const std::exception& error) {
      return error.what() == mistake;
    }
    return false;
  };
  for (const auto& [name, value] : point.options) {
    Point without = point;
    without.options.erase(name);
    if (!same_mistake(without)) return name;
  }
  for (const Field& field : fields) {
    Point without = point;
    field.reset(without);
    if (without != point && !same_mistake(without)) return field.name;
  }
  return "";
}

}  // namespace deepgap
