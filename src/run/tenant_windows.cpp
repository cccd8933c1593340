#include "run/tenant_windows.h"

#include "analysis/steady.h"
#include "record/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr double least_share = 0.9;

}  // namespace

void note_common_window(std::vector<Record>& tenants) {
  Nanoseconds begin = INT64_MIN, end = INT64_MAX;
  for (const Record& tenant : tenants) {
    const Window* own = find_window(tenant, "steady");
    if (own == nullptr) return;
    begin = std::max(begin, own->begin);
    end = std::min(end, own->end);
  }
  for (Record& tenant : tenants) {
    const Window* own = find_window(tenant, "steady");
    const auto length = static_cast<double>(std::max<Nanoseconds>(1, own->end - own->begin));
    const double share = std::max(0.0, static_cast<double>(end - begin) / length);
    tenant.facts["tenant.window_share"] = share;
    if (share >= least_share || !is_sound(tenant.verdict)) continue;
    tenant.verdict = Verdict::unstable;
    tenant.reason = fmt::format("only {:.0f} % of its window lay beside all other tenants'; measure longer (--duration)", 100 * share);
  }
}

}  // namespace deepgap
