#include "plan/tenants.h"

#include "base/messages.h"
#include "base/text.h"
#include "plan/point_fields.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/tenant_set.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr size_t most_tenants = 64;

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, cause); }

void check_tenant(const Grid& grid, const TenantAxes& tenant, size_t number) {
  const auto where = fmt::format("tenant {}", number);
  if (find_axis(tenant, "model") == nullptr && find_axis(grid.axes, "model") == nullptr)
    fail(fmt::format("{}: no model; give model=NAME", where));
  for (const Axis& axis : tenant) {
    if (axis.name == "tenant_cpus") fail(fmt::format("{}: tenant_cpus is for all tenants: --axis tenant_cpus={}", where, axis.values[0]));
  }
}

void require_known_cpus(const Point& point) {
  const std::string cpus = option_of(point, "tenant_cpus", "share");
  if (cpus != "share" && cpus != "split") fail(invalid_choice(cpus, "tenant_cpus", {"share", "split"}));
}

// Tenants with one seed would be asked at the very same times. Each has the same arrivals alone as beside the others, so that the ratio
// does not depend on how many happened to come.
void give_own_arrivals(Point& point, size_t index) {
  if (scenario_traits(point.scenario).draws_arrivals && index > 0) point.options.emplace("arrivals", std::to_string(index));
}

}  // namespace

TenantAxes parse_tenant(const std::string& text) {
  const std::string where = fmt::format("--tenant '{}'", text);
  std::vector<std::pair<std::string, std::string>> settings;
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals != std::string::npos && equals > 0) {
      settings.emplace_back(trim(part.substr(0, equals)), part.substr(equals + 1));
    } else if (settings.empty() || equals == 0) {
      fail(fmt::format("invalid value '{}' for --tenant: expected NAME=VALUE,..., such as model=resnet50,batch=8", text));
    } else {
      settings.back().second += "," + part;  // a list
    }
  }
  TenantAxes tenant;
  for (const auto& [name, values] : settings) {
    if (find_axis(tenant, name) != nullptr) fail(fmt::format("{}: {} is given twice", where, name));
    tenant.push_back({name, parse_axis_values(values, fmt::format("{}: {}", where, name))});
    Point ignored;
    tenant.back().places.assign(tenant.back().values.size(), "--tenant");
    for (const std::string& value : tenant.back().values) set_on_point(ignored, name, value, 1);
  }
  return tenant;
}

void check_tenants(const Grid& grid) {
  for (const Axis& axis : axes_with_tenants(grid)) {
    if (axis.name == "tenant" || axis.name == "tenants")
      fail(fmt::format("'{}' cannot be set; --tenant and [[grid.tenant]] say what is measured together", axis.name));
  }
  if (grid.tenants.empty()) return;
  if (grid.tenants.size() < 2) fail("a tenant needs at least one other: give --tenant twice or more");
  if (grid.tenants.size() > most_tenants) fail(fmt::format("{} tenants; at most {}", grid.tenants.size(), most_tenants));
  for (size_t i = 0; i < grid.tenants.size(); ++i) check_tenant(grid, grid.tenants[i], i + 1);
}

std::vector<Axis> axes_with_tenants(const Grid& grid) {
  std::vector<Axis> axes = grid.axes;
  for (const TenantAxes& tenant : grid.tenants) axes.insert(axes.end(), tenant.begin(), tenant.end());
  return axes;
}

std::vector<Point> tenants_of_choice(const Grid& grid, const std::vector<std::string>& choice, int cpus) {
  std::vector<Point> points;
  size_t own = grid.axes.size();  // where the tenant's own values begin
  for (const TenantAxes& tenant : grid.tenants) {
    Point& point = points.emplace_back();
    point.threads = cpus;
    for (size_t i = 0; i < grid.axes.size(); ++i) set_on_point(point, grid.axes[i].name, choice[i], cpus);
    for (const Axis& axis : tenant) set_on_point(point, axis.name, choice[own++], cpus);
    require_known_cpus(point);
    give_own_arrivals(point, points.size() - 1);
  }
  join_tenants(points);
  return points;
}

}  // namespace deepgap
