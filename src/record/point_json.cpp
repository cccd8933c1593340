// The canonical JSON of a Point. Its bytes, without the path of a model file, are hashed into point_id, so they must never change:
// nlohmann::json sorts keys, no key is ever left out, and a golden test holds one id. What may be a path may be no UTF-8
// (base/byte_text.h).
#include "record/dataset_hash.h"
#include "record/json_fields.h"
#include "record/record_json.h"

#include "base/byte_text.h"
#include "base/hash.h"

namespace deepgap {

nlohmann::json point_to_json(const Point& point) {
  nlohmann::json devices = nlohmann::json::array();
  for (const DeviceId& device : point.placement.devices) devices.push_back(utf8_text(device_name(device)));
  nlohmann::json options = nlohmann::json::object();
  for (const auto& [key, value] : point.options) options[utf8_text(key)] = as_utf8(value);
  nlohmann::json json = nlohmann::json::object();
  put(json, "task", point.task);
  json["model"] = as_utf8(point.model);
  put(json, "model_hash", point.model_hash);
  json["weights"] = as_utf8(point.weights);
  json["dataset"] = as_utf8(point.dataset);
  put(json, "backend", point.backend);
  json["placement"] = {{"devices", std::move(devices)}, {"processes", point.placement.processes}};
  put(json, "precision", std::string(name_of(point.precision)));
  put(json, "batch", point.batch);
  put(json, "scenario", point.scenario);
  put(json, "threads", point.threads);
  json["options"] = std::move(options);
  return json;
}

Point point_from_json(const nlohmann::json& json) {
  const Fields fields(json, "point");
  Point point;
  const auto get_bytes = [&](const char* key, std::string& value) {
    fields.get(key, value);
    value = of_utf8(value);
  };
  fields.get("task", point.task);
  get_bytes("model", point.model);
  fields.get("model_hash", point.model_hash);
  get_bytes("weights", point.weights);
  get_bytes("dataset", point.dataset);
  fields.get("backend", point.backend);
  std::string precision(name_of(point.precision));
  fields.get("precision", precision);
  if (const auto known = precision_from(precision)) {
    point.precision = *known;
  } else {
    fields.fail(fmt::format("there is no precision '{}'", precision));
  }
  fields.get("batch", point.batch);
  fields.get("scenario", point.scenario);
  fields.get("threads", point.threads);
  const Fields placement(fields.at("placement"), "placement");
  placement.get("processes", point.placement.processes);
  point.placement.devices.clear();
  for (const auto& name : placement.at("devices")) {
    const auto device = name.is_string() ? device_from(name.get_ref<const std::string&>()) : std::nullopt;
    if (!device) placement.fail("a device has no valid name");
    point.placement.devices.push_back(*device);
  }
  const auto& options = fields.at("options");
  if (!options.is_object()) fields.fail("'options' is not a JSON object");
  for (const auto& [key, value] : options.items()) {
    if (!value.is_string()) fields.fail(fmt::format("option '{}' is not a string", key));
    point.options.emplace(key, of_utf8(value.get_ref<const std::string&>()));
  }
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

std::string point_id(const Point& point) { return content_hash(point_to_json(without_paths(point)).dump()).substr(0, 16); }

}  // namespace deepgap
