#include "analysis/interference.h"

#include "analysis/words.h"
#include "base/text.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "record/tenant_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace deepgap {
namespace {

// Returns whether every tenant of the set is there, once.
bool is_whole(const TenantSet& set) {
  if (set.tenants.size() != static_cast<size_t>(tenant_place(set.tenants.front().together->point)->count)) return false;
  return std::all_of(set.tenants.begin(), set.tenants.end(), [](const TenantInterference& t) { return t.alone != nullptr; });
}

// Returns the settings that names omit because all tenants share them, where they distinguish sets: ", batch 8, fp16".
std::string common_words(const std::vector<TenantInterference>& tenants) {
  using Words = std::string (*)(const Point&);
  constexpr std::array<Words, 5> all{
      [](const Point& p) { return fmt::format("batch {}", p.batch); },
      [](const Point& p) { return p.scenario == Point{}.scenario ? std::string() : p.scenario; },
      [](const Point& p) {
        const std::string rate = option_of(p, "rate");
        return rate.empty() ? rate : "rate=" + rate;
      },
      [](const Point& p) { return p.precision == Precision::fp32 ? std::string() : std::string(name_of(p.precision)); },
      [](const Point& p) { return p.placement == Placement{} ? std::string() : placement_name(p.placement); }};
  const Point& first = tenants.front().together->point;
  std::string words;
  for (const Words of : all) {
    const std::string word = of(first);
    const auto same = [&](const TenantInterference& tenant) { return of(tenant.together->point) == word; };
    if (!word.empty() && std::all_of(tenants.begin(), tenants.end(), same)) words += ", " + word;
  }
  return words;
}

}  // namespace

std::string TenantSet::label() const {
  std::vector<std::string> names;
  for (const TenantInterference& tenant : tenants) names.push_back(tenant_name(tenant.together->point));
  const Point& first = tenants.front().together->point;
  return fmt::format("{}{}, CPUs {}", join(names, " beside "), common_words(tenants), splits_cpus(first) ? "split" : "shared");
}

// The interval is MOVER's (Zou and Donner, Statistics in Medicine 27, 2008): each side adds the squares of the terms' distances on that
// side. So it lies above 0 as theirs do.
std::optional<TenantSet::Sum> TenantSet::work() const {
  Sum sum;
  double below = 0, above = 0;
  bool known = true;
  for (const TenantInterference& tenant : tenants) {
    if (!tenant.throughput || !scenario_traits(tenant.together->point.scenario).takes_all) return std::nullopt;
    sum.value += tenant.throughput->ratio;
    known = known && tenant.throughput->interval;
    if (!known) continue;
    below += std::pow(tenant.throughput->ratio - tenant.throughput->interval->low, 2);
    above += std::pow(tenant.throughput->interval->high - tenant.throughput->ratio, 2);
  }
  if (known) sum.interval = Interval{sum.value - std::sqrt(below), sum.value + std::sqrt(above)};
  return sum;
}

std::vector<TenantSet> tenant_sets(std::span<const PointSummary> points) {
  std::map<PointOnDevice, const PointSummary*> alone;
  for (const PointSummary& point : points) {
    if (point.outcome == Outcome::ok && !tenant_place(point.point)) alone.emplace(point.on_device(), &point);
  }
  std::vector<TenantSet> sets;
  std::map<std::pair<TenantSetKey, std::string>, size_t> index;  // by set and device
  for (const PointSummary& point : points) {
    if (point.outcome != Outcome::ok || !tenant_place(point.point)) continue;
    const auto [place, is_new] = index.emplace(std::pair(tenant_set_key(point.point), point.identity.device), sets.size());
    if (is_new) sets.emplace_back();
    TenantInterference& tenant = sets[place->second].tenants.emplace_back();
    tenant.together = &point;
    const auto found = alone.find({without_tenants(point.point), point.identity.device});
    if (found == alone.end()) continue;
    tenant.alone = found->second;
    tenant.throughput = compare_points(point, *tenant.alone, "throughput");
    tenant.latency_p99 = compare_points(point, *tenant.alone, "latency_p99_ms");
  }
  std::erase_if(sets, [](const TenantSet& set) { return !is_whole(set); });
  for (TenantSet& set : sets) {
    std::sort(set.tenants.begin(), set.tenants.end(), [](const auto& a, const auto& b) {
      return tenant_place(a.together->point)->number < tenant_place(b.together->point)->number;
    });
  }
  return sets;
}

std::string interference_words(const TenantInterference& tenant) {
  std::string words = tenant_name(tenant.together->point);
  if (tenant.throughput)
    words += fmt::format(" keeps {} of its throughput alone", format_ratio(tenant.throughput->ratio, tenant.throughput->interval));
  if (tenant.latency_p99)
    words += fmt::format("; its p99 latency is {} times that alone", format_ratio(tenant.latency_p99->ratio, tenant.latency_p99->interval));
  return words;
}

std::string work_words(const TenantSet& set) {
  const auto work = set.work();
  if (!work) return {};
  return fmt::format("Together they do the work of {} devices.", format_ratio(work->value, work->interval));
}

}  // namespace deepgap
