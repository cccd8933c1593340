#include "analysis/common_environments.h"

#include "record/momentary.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace deepgap {
namespace {

// Returns whether `kept` is `facts` without the momentary ones.
bool keeps(const Facts& kept, const Facts& facts) {
  auto own = kept.begin();
  for (const auto& fact : facts) {
    if (is_momentary(fact.first)) continue;
    if (own == kept.end() || *own != fact) return false;
    ++own;
  }
  return own == kept.end();
}

}  // namespace

CommonEnvironments::Shared CommonEnvironments::common(const Shared& so_far, const Facts& facts) {
  if (so_far && keeps(*so_far, facts)) return so_far;
  if (!so_far && newest_ && keeps(*newest_, facts)) return newest_;
  Facts alike;
  const Facts& among = so_far ? *so_far : facts;
  std::set_intersection(among.begin(), among.end(), facts.begin(), facts.end(), std::inserter(alike, alike.end()));
  std::erase_if(alike, [](const auto& fact) { return is_momentary(fact.first); });
  if (!newest_ || *newest_ != alike) newest_ = std::make_shared<const Facts>(std::move(alike));
  return newest_;
}

}  // namespace deepgap
