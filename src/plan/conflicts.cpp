#include "plan/conflicts.h"

#include "base/text.h"
#include "plan/place.h"
#include "plan/tenants.h"
#include "plan/usual_names.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace deepgap {
namespace {

[[noreturn]] void refuse(const Axis& axis, const std::string& cause) {
  throw Error(ErrorKind::usage, at_place(axis.places.empty() ? "" : axis.places.front(), fmt::format("{} {}", axis.name, cause)));
}

// An axis that changes nothing while no axis `other` is there with a value besides `other_off`.
struct Dependency {
  std::string_view name, off;
  std::string_view other, other_off;
  std::string_view cause;
};
constexpr Dependency dependencies[] = {
    {"max_delay", "0", "max_batch", "", "needs batches of several queries: give max_batch (--max-batch 8), or leave it out"},
    {"pad", "none", "max_batch", "", "needs batches of several queries: give max_batch (--max-batch 8), or leave it out"},
    {"shed_allowed", "0%", "shed", "none", "needs a policy that sheds queries: give shed=reject-newest or drop-oldest, or leave it out"},
};

bool says(const std::vector<Axis>& axes, std::string_view name, std::string_view off) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return axis.name == name && std::any_of(axis.values.begin(), axis.values.end(), [&](const std::string& value) { return value != off; });
  });
}

bool has_value(const std::vector<Axis>& axes, std::string_view name, const std::string& value) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return axis.name == name && std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end();
  });
}

// Returns the engine that an axis such as "openvino.hint" belongs to. Other prefixes do not name engines.
std::string engine_of(const std::string& axis) {
  const size_t dot = axis.find('.');
  const std::string prefix = dot == std::string::npos ? "" : axis.substr(0, dot);
  return prefix == "quantize" || prefix == "env" ? "" : prefix;
}

void refuse_absent_engines(const std::vector<Axis>& axes) {
  const Axis* backends = find_axis(axes, "backend");
  std::set<std::string> named;
  for (const std::string& name : backends == nullptr ? std::vector<std::string>{Point().backend} : backends->values)
    named.insert(usual_name("backend", name));
  for (const Axis& axis : axes) {
    const std::string engine = engine_of(axis.name);
    if (engine.empty() || named.contains(engine)) continue;
    refuse(axis, fmt::format("applies to backend {}, which none of the points has: add it to the backends, or leave it out", engine));
  }
}

bool is_for_quantizing(const std::string& axis) { return axis.starts_with("quantize."); }

}  // namespace

bool leave_out_what_is_for_others(Point& point) {
  return std::erase_if(point.options, [&](const auto& option) {
           const std::string engine = engine_of(option.first);
           return (!engine.empty() && engine != point.backend) || (is_for_quantizing(option.first) && point.precision != Precision::int8);
         }) > 0;
}

void refuse_conflicts(const Grid& grid) {
  const std::vector<Axis> axes = axes_with_tenants(grid);
  for (const Dependency& dependency : dependencies) {
    if (says(axes, dependency.name, dependency.off) && !says(axes, dependency.other, dependency.other_off))
      refuse(*find_axis(axes, dependency.name), std::string(dependency.cause));
  }
  const bool has_int8 = has_value(axes, "precision", "int8");
  for (const Axis& axis : axes) {
    if (is_for_quantizing(axis.name) && !has_int8) refuse(axis, "applies to precision int8: add it to the precisions, or leave it out");
  }
  refuse_absent_engines(axes);
  const Axis* samples = find_axis(axes, "total_samples");
  if (samples != nullptr && grid.stopping.iterations) refuse(*samples, "and iterations both say when a run ends: leave one of them out");
}

}  // namespace deepgap
