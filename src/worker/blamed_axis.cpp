#include "worker/blamed_axis.h"

#include "base/words.h"

#include <exception>

namespace deepgap {
namespace {

constexpr size_t most_tried = 64;  // options, each with a look at all others; of more only those that the mistake names

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
  std::string other_mistake;  // the first axis without which there is a mistake, but another one: the Point needs its value
  // The axis is to blame if there is no mistake at all without it.
  const auto mends = [&](const std::string& axis, const Point& without) {
    try {
      inspect(without);
    } catch (const std::exception& error) {
      if (error.what() != mistake && other_mistake.empty()) other_mistake = axis;
      return false;
    }
    return true;
  };
  const bool are_many = point.options.size() > most_tried;
  for (const auto& [name, value] : point.options) {
    if (are_many && !has_word(mistake, name.substr(name.rfind('.') + 1))) continue;
    Point without = point;
    without.options.erase(name);
    if (mends(name, without)) return name;
  }
  for (const Field& field : fields) {
    Point without = point;
    field.reset(without);
    if (without != point && mends(field.name, without)) return field.name;
  }
  return other_mistake;
}

}  // namespace deepgap
