// The canonical JSON of a Point. Its bytes, without the path of a model file, are hashed into point_id, so they must never change:
// nlohmann::json sorts keys, no key is ever left out, and a golden test holds one id. What may be a path may be no UTF-8
// (base/byte_text.h).
#include "base/dump_json.h"
#include "record/dataset_hash.h"
#include "record/json_text.h"

#include "base/byte_text.h"
#include "base/hash.h"

namespace deepgap {

template <typename V>
void fields(V& visit, Placement& placement) {
  visit("devices", placement.devices);
  visit("processes", placement.processes);
}

template <typename V>
void fields(V& visit, Point& point) {
  visit("task", point.task);
  visit("model", Bytes{point.model});
  visit("model_hash", point.model_hash);
  visit("weights", Bytes{point.weights});
  visit("dataset", Bytes{point.dataset});
  visit("backend", point.backend);
  visit("placement", point.placement);
  visit("precision", point.precision);
  visit("batch", point.batch);
  visit("scenario", point.scenario);
  visit("threads", point.threads);
}

nlohmann::json point_to_json(const Point& point) {
  FieldWriter writer;
  fields(writer, const_cast<Point&>(point));
  std::map<std::string, std::string> options;
  for (const auto& [key, value] : point.options) options[key] = as_utf8(value);
  writer("options", options);
  return valid_utf8(std::move(writer).take());
}

Point point_from_json(const nlohmann::json& json) {
  const JsonPlace whole{nullptr, "point"};
  FieldReader reader(json, whole);
  Point point;
  fields(reader, point);
  reader("options", point.options);
  for (auto& [key, value] : point.options) value = of_utf8(value);
  return point;
}

Point without_paths(Point point) {
  if (!point.model_hash.empty()) point.model.clear();
  if (has_dataset_hash(point)) {
    if (point.dataset != "pictures") point.dataset.clear();  // whose labels alone are of files
    if (const auto labels = point.options.find("labels"); labels != point.options.end()) labels->second.clear();
  }
  return point;
}

std::string point_id(const Point& point) { return content_hash(dump_line(point_to_json(without_paths(point)))).substr(0, 16); }

}  // namespace deepgap
