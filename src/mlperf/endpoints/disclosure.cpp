#include "mlperf/endpoints/disclosure.h"

#include "base/file.h"
#include "base/parse_json.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace deepgap {
namespace {

// The parts, and the keys of each that come from the records alone.
const std::map<std::string, std::vector<std::string>>& parts() {
  static const std::map<std::string, std::vector<std::string>> parts{
      {"system", {"node_types", "tps_utilization"}},
      {"node", {}},
      {"point", {"concurrency", "max_supported_concurrency", "offline", "region", "runtime_settings", "steady_state", "warmup"}},
      {"power", {}}};
  return parts;
}

void check_part(const std::string& path, const std::string& name, const nlohmann::json& part) {
  std::vector<std::string> known;
  for (const auto& [each, keys] : parts()) known.push_back(each);
  const auto found = parts().find(name);
  if (found == parts().end()) throw Error(ErrorKind::input, fmt::format("{}: {}", path, unknown_name("part", name, known)));
  if (!part.is_object()) throw Error(ErrorKind::input, fmt::format("{}: '{}' is not a JSON object", path, name));
  for (const auto& [key, value] : part.items()) {  // a patch would take null for a wish to remove the value
    if (value.is_null()) throw Error(ErrorKind::input, fmt::format("{}: '{}.{}' is null: leave it out", path, name, key));
  }
  for (const std::string& key : found->second) {
    if (part.contains(key))
      throw Error(ErrorKind::input, fmt::format("{}: '{}.{}' is made from the records: leave it out", path, name, key));
  }
}

// Names that folders get.
void check_name(const std::string& path, const nlohmann::json& file, const char* part, const char* key) {
  const auto found = file.find(part);
  if (found == file.end() || !found->contains(key)) return;
  const nlohmann::json& name = found->at(key);
  const std::string text = name.is_string() ? name.get<std::string>() : "";
  if (text.empty() || text.starts_with('.') || text.find('/') != std::string::npos)
    throw Error(ErrorKind::input, fmt::format("{}: '{}.{}' is not a name that a folder can have", path, part, key));
}

}  // namespace

nlohmann::ordered_json read_endpoints_disclosure(const std::string& path) {
  nlohmann::ordered_json disclosure;
  for (const auto& [name, keys] : parts()) disclosure[name] = nlohmann::ordered_json::object();
  if (path.empty()) return disclosure;
  const nlohmann::json file = parse_json(read_text(path));
  if (!file.is_object()) throw Error(ErrorKind::input, fmt::format("{} is not a JSON object", path));
  for (const auto& [name, part] : file.items()) {
    check_part(path, name, part);
    disclosure[name] = part;
  }
  check_name(path, file, "system", "system_name");
  check_name(path, file, "point", "model_name");
  return disclosure;
}

}  // namespace deepgap
