#include "worker/blamed_axis.h"

#include "base/words.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

constexpr size_t most_tried = 64;  // options, each with a look at all others; of more only those that the mistake names

struct Field {
  const char* name;
  void (*reset)(Point&);
  std::string (*value)(const Point&) = [](const Point&) { return std::string(); };
};
constexpr Field known_fields[] = {
    {"processes", [](Point& point) { point.placement.processes = 1; }},
    {"weights", [](Point& point) { point.weights = Point{}.weights; }, [](const Point& point) { return point.weights; }},
    {"dataset", [](Point& point) { point.dataset = Point{}.dataset; }, [](const Point& point) { return point.dataset; }},
    {"precision", [](Point& point) { point.precision = Point{}.precision; }},
    {"batch", [](Point& point) { point.batch = Point{}.batch; }},
    {"scenario", [](Point& point) { point.scenario = Point{}.scenario; }, [](const Point& point) { return point.scenario; }},
    {"model", [](Point& point) { point.model.clear(); }, [](const Point& point) { return point.model; }},
    {"device", [](Point& point) { point.placement.devices = Placement{}.devices; }},
    {"backend", [](Point& point) { point.backend = Point{}.backend; }, [](const Point& point) { return point.backend; }},
};

}  // namespace

std::string blamed_axis(const Point& point, const std::string& mistake, const std::function<void(const Point&)>& inspect) {
  // The axes without which there is a mistake, but another one, and their values: the Point needs them.
  std::vector<std::pair<std::string, std::string>> needed;
  // The axis is to blame if there is no mistake at all without it.
  const auto mends = [&](const std::string& axis, const std::string& value, const Point& without) {
    try {
      inspect(without);
    } catch (const std::exception& error) {
      if (error.what() != mistake) needed.emplace_back(axis, value);
      return false;
    }
    return true;
  };
  const bool are_many = point.options.size() > most_tried;
  for (const auto& [name, value] : point.options) {
    if (are_many && !has_word(mistake, name.substr(name.rfind('.') + 1))) continue;
    Point without = point;
    without.options.erase(name);
    if (mends(name, value, without)) return name;
  }
  for (const Field& field : known_fields) {
    Point without = point;
    field.reset(without);
    if (without != point && mends(field.name, field.value(point), without)) return field.name;
  }
  for (const auto& [axis, value] : needed) {
    if (!value.empty() && mistake.find("'" + value + "'") != std::string::npos) return axis;  // the mistake quotes it
  }
  // A path is often not quoted. The longest value is the least likely to stand there by chance: "cannot open model4.gguf" has a 4.
  const auto longest = [&](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  std::vector<std::pair<std::string, std::string>> named;
  std::copy_if(needed.begin(), needed.end(), std::back_inserter(named), [&](const auto& one) { return has_word(mistake, one.second); });
  if (!named.empty()) return std::max_element(named.begin(), named.end(), longest)->first;
  return needed.empty() ? std::string() : needed.front().first;
}

}  // namespace deepgap
