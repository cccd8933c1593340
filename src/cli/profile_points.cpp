#include "cli/profile_points.h"

#include "analysis/point_labels.h"
#include "base/console.h"
#include "base/words.h"
#include "cli/child.h"
#include "cli/machine_ceilings.h"
#include "kernels/families.h"
#include "profile/stored_profile.h"
#include "profile/work_table.h"
#include "record/record_json.h"
#include "run/progress.h"
#include "store/store.h"
#include "telemetry/environment.h"
#include "worker/profile_point.h"
#include "worker/watch_device.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* child_command = "__profile_point";

const bool registered = add_child_command(child_command, [](const json& request, FrameWriter& /*before*/) {
  return layer_profile_to_json(profile_point(point_profile_request_from_json(request)));
});

int64_t now_unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The Record of each Point that a profile goes beside: the first good one of this run, else of an earlier one that `resume` counts.
class Chosen {
 public:
  Chosen(const RunReport& report, const std::string& store_path) {
    std::set<std::string> of_run;
    for (const PointSummary& point : report.points) of_run.insert(point.point_id);
    const Store store(store_path, Store::Mode::read);
    const std::set<std::string> profiled = store.profiled();
    store.look([&](const Record& record) {
      if (record.outcome != Outcome::ok) return;
      const std::string id = point_id(record.point);
      if (!of_run.contains(id)) return;
      if (profiled.contains(record.record_id)) had_.insert(id);
      const bool own = record.run_id == report.run_id;
      const auto known = records_.find(id);
      if (known == records_.end() || (own && !known->second.own))
        records_.insert_or_assign(id, Choice{own, record.record_id, record.point});
    });
  }
  struct Choice {
    bool own = false;
    std::string record_id;
    Point point;
  };
  const std::map<std::string, Choice>& records() const { return records_; }
  bool had(const std::string& id) const { return had_.contains(id); }

 private:
  std::map<std::string, Choice> records_;
  std::set<std::string> had_;
};

LayerProfile taken(const Point& point, const std::string& label, const std::string& cache_dir) {
  PointProfileRequest request{point, cache_dir};
  const auto ask = [&] { return layer_profile_from_json(call_child({child_command, label, point_profile_request_to_json(request)})); };
  if (point.placement.devices.front().kind != "cuda") return ask();
  return taken_with_less(request.watch, request.count, ask);
}

StoredProfile profile_of(const Point& point, const std::string& label, const Facts& environment, const std::string& cache_dir) {
  const DeviceId& device = point.placement.devices.front();
  StoredProfile stored;
  stored.header = {"", std::string(name_of(point.precision)), point.batch, point.threads, device_name(device)};
  stored.machine = machine_ceilings({device, std::max(point.threads, 1)}, environment, cache_dir, false);
  stored.last_cache_bytes = last_cache_bytes(environment);
  stored.taken_unix_ns = now_unix_ns();
  stored.profile = taken(point, label, cache_dir);
  assign_families(Families(), stored.profile);
  return stored;
}

}  // namespace

ProfiledPoints profile_points(const RunReport& report, const RunSettings& settings) {
  const Chosen chosen(report, settings.store_path);
  const Facts environment = capture_environment();
  const PointLabels labels(report.points);
  ProfiledPoints count;
  for (const PointSummary& summary : report.points) {
    const auto choice = chosen.records().find(summary.point_id);
    if (choice == chosen.records().end()) continue;  // nothing of it ran
    if (chosen.had(summary.point_id)) {
      ++count.had;
      continue;
    }
    const std::string label = labels.of(summary);
    std::string missing = why_not_profiled(choice->second.point);
    try {
      if (missing.empty()) {
        const StoredProfile stored = profile_of(choice->second.point, label, environment, settings.cache_dir);
        Store(settings.store_path, Store::Mode::append).keep_profile(choice->second.record_id, stored_profile_text(stored));
        ++count.taken;
        continue;
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::store) throw;
      missing = error.what();
    }
    say(stderr, fmt::format("deepgap: note: no profile of {}: {}\n", label, printable(missing)));
  }
  return count;
}

}  // namespace deepgap
