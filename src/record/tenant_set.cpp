#include "record/tenant_set.h"

#include "base/dump_json.h"
#include "base/text.h"
#include "record/dataset_hash.h"
#include "record/point_option.h"
#include "record/record_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace deepgap {
namespace {

constexpr const char* between_tenants = " + ";

using Settings = std::map<std::string, std::string>;

// Fields and options by name, without those that make it a tenant.
Settings settings_of(const Point& tenant) {
  const Point point = without_tenants(tenant);
  const nlohmann::json fields = point_to_json(point);
  Settings settings = point.options;
  for (const auto& [name, value] : fields.items()) {
    if (!value.is_object()) settings[name] = value.is_string() ? value.get<std::string>() : dump_line(value);
  }
  settings["device"] = placement_name(point.placement);
  return settings;
}

std::set<std::string> differing_names(const std::vector<Settings>& all) {
  std::set<std::string> names;
  for (const Settings& one : all) {
    for (const auto& [name, value] : one) {
      const auto same = [&, &name = name, &value = value](const Settings& other) {
        const auto found = other.find(name);
        return found != other.end() && found->second == value;
      };
      if (!std::all_of(all.begin(), all.end(), same)) names.insert(name);
    }
  }
  names.erase("model");  // shown without its name
  names.erase(dataset_hash_option);
  return names;
}

std::string text_of(const Settings& settings, const std::set<std::string>& names) {
  std::string text = settings.at("model");
  for (const std::string& name : names) {
    const auto found = settings.find(name);
    if (found != settings.end() && !found->second.empty()) text += fmt::format(" {}={}", name, found->second);
  }
  return text;
}

std::vector<std::string> parts_of(const std::string& tenants) {
  std::vector<std::string> parts;
  const std::string_view separator = between_tenants;
  size_t begin = 0;
  for (size_t end = tenants.find(separator); end != std::string::npos; end = tenants.find(separator, begin)) {
    parts.push_back(tenants.substr(begin, end - begin));
    begin = end + separator.size();
  }
  parts.push_back(tenants.substr(begin));
  return parts;
}

}  // namespace

void join_tenants(std::span<Point> points) {
  std::vector<Settings> all;
  for (const Point& point : points) all.push_back(settings_of(point));
  const std::set<std::string> names = differing_names(all);
  std::vector<std::string> texts;
  for (const Settings& settings : all) texts.push_back(text_of(settings, names));
  const std::string tenants = join(texts, between_tenants);
  for (size_t i = 0; i < points.size(); ++i) {
    points[i].options["tenants"] = tenants;
    points[i].options["tenant"] = fmt::format("{}/{}", i + 1, points.size());
    points[i].options.emplace("tenant_cpus", "share");
  }
}

std::optional<TenantPlace> tenant_place(const Point& point) {
  const std::vector<std::string> parts = split(option_of(point, "tenant"), '/');
  if (parts.size() != 2) return std::nullopt;
  const auto number = parse_int(parts[0]), count = parse_int(parts[1]);
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return TenantPlace{static_cast<int>(*number), static_cast<int>(*count)};
}

bool splits_cpus(const Point& point) { return option_of(point, "tenant_cpus") == "split"; }

std::string tenant_name(const Point& point) {
  const std::vector<std::string> parts = parts_of(option_of(point, "tenants"));
  const auto index = static_cast<size_t>(tenant_place(point)->number - 1);
  return index < parts.size() ? parts[index] : point.model;
}

TenantSetKey tenant_set_key(const Point& point) {
  TenantSetKey key{option_of(point, "tenants"), option_of(point, "tenant_cpus"), settings_of(point)};
  for (const char* aspect : {"model", "model_hash"}) key.common.erase(aspect);
  for (const std::string& part : parts_of(key.tenants)) {
    for (const std::string& word : split(part, ' ')) key.common.erase(word.substr(0, word.find('=')));
  }
  return key;
}

std::string text_of(const TenantSetKey& key) {
  return dump_line(nlohmann::json{{"tenants", key.tenants}, {"tenant_cpus", key.tenant_cpus}, {"common", key.common}});
}

Point without_tenants(Point point) {
  for (const char* option : {"tenants", "tenant", "tenant_cpus"}) point.options.erase(option);
  return point;
}

}  // namespace deepgap
