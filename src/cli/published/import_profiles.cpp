#include "cli/published/import_profiles.h"

#include "base/dump_json.h"
#include "base/parse_json.h"
#include "profile/stored_profile.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::map<std::string, std::string> read_exported_profiles(const std::string& text, const std::string& path) {
  const nlohmann::json list = parse_json(text);
  if (!list.is_array())
    throw Error(ErrorKind::input, fmt::format("{}: not exported profiles; deepgap export --profile --output NAME.json writes them", path));
  std::map<std::string, std::string> profiles;
  int number = 0;
  for (const nlohmann::json& each : list) {
    ++number;
    const std::string record_id = each.is_object() ? text_of(each, "record_id") : std::string();
    if (record_id.empty() || !each.contains("kept"))
      throw Error(ErrorKind::input, fmt::format("{}: profile {} lacks its record or 'kept': an older export is incomplete", path, number));
    std::string kept = dump_line(each.at("kept"));
    try {
      parse_stored_profile(kept);
    } catch (const Error& error) {
      throw Error(ErrorKind::input, fmt::format("{}: profile {}: {}", path, number, error.what()));
    }
    if (!profiles.emplace(record_id, std::move(kept)).second)
      throw Error(ErrorKind::input, fmt::format("{}: profile {} is the second of record {}", path, number, record_id));
  }
  return profiles;
}

}  // namespace deepgap
