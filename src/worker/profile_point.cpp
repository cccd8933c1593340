#include "worker/profile_point.h"

#include "record/duel_set.h"
#include "record/json_text.h"
#include "record/tenant_set.h"
#include "telemetry/environment.h"
#include "worker/group.h"
#include "worker/plugin.h"
#include "worker/point_options.h"
#include "worker/run_rules.h"
#include "worker/task_work.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>

namespace deepgap {
namespace {

PointOptions options_of(const Point& point) {
  const auto plugin = open_plugin(point.backend);
  return sort_options(point, plugin->backend().options(), scenario_of(point)->options());
}

}  // namespace

std::string why_not_profiled(const Point& point) {
  if (std::string why = task_work(point).why_not_profiled(point); !why.empty()) return why;
  if (is_remote(point.placement)) return "its model is on a server, which reports no times of layers";
  if (tenant_place(point)) return "it ran beside others";
  if (contender_place(point)) return "it took turns with others";
  if (rules_of(point) != nullptr) return "a run by a benchmark's rules is timed alone";
  return {};
}

template <typename V>
void fields(V& visit, PointProfileRequest& request) {
  visit("point", request.point);
  visit("cache_dir", request.cache_dir);
  visit("watch", request.watch);
  visit("count", request.count);
}

nlohmann::json point_profile_request_to_json(const PointProfileRequest& request) { return json_of(request); }
PointProfileRequest point_profile_request_from_json(const nlohmann::json& json) {
  return json_to<PointProfileRequest>(json, "request for a profile");
}

LayerProfile profile_point(const PointProfileRequest& request) {
  const Point& point = request.point;
  for (const auto& [name, value] : worker_environment(point)) ::setenv(name.c_str(), value.c_str(), 1);
  if (const auto affinity = point.options.find("affinity"); affinity != point.options.end() && !gpu_side(affinity->second)) {
    const std::vector<int> cpus = affinity_cpus(affinity->second, point.threads, allowed_cpus());
    if (!cpus.empty()) pin_thread(cpus);
  }
  const PointOptions options = options_of(point);
  ProfileRequest profile;
  profile.engine.model = model_request(point, options, request.cache_dir);
  profile.engine.backend = point.backend;
  profile.engine.device = point.placement.devices.front();
  profile.engine.precision = point.precision;
  profile.engine.dataset = point.dataset;
  profile.engine.samples = options.samples;
  profile.engine.threads = std::max(point.threads, 1);
  profile.engine.cache_dir = request.cache_dir;
  profile.engine.options = options.backend;
  profile.engine.quantize = options.quantize;
  profile.batch = point.batch;
  profile.watch = request.watch;
  profile.count = request.count;
  return task_work(point).profile(point, options, profile);
}

}  // namespace deepgap
