#include "worker/session_counts.h"

#include <deepgap/series_source.h>

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace deepgap {
namespace {

Fact fact_of(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

std::map<std::string, Estimate> estimates_of(const std::map<std::string, double>& counts) {
  std::map<std::string, Estimate> estimates;
  const auto requests = counts.find("server.requests");
  if (requests == counts.end()) return estimates;
  for (const char* part : {"queue_ms", "input_ms", "inference_ms", "output_ms", "batch"}) {
    const auto found = counts.find(fmt::format("server.{}", part));
    if (found != counts.end()) estimates[fmt::format("server_{}", part)] = {found->second, {}, {}, static_cast<int64_t>(requests->second)};
  }
  return estimates;
}

}  // namespace

SessionCounts take_session_counts(Instances& instances) {
  SessionCounts taken;
  const auto& all = instances.all();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::map<std::string, double> counts = all[i].session->take_counts();
    const std::string prefix = all.size() == 1 ? "session" : fmt::format("session.{}", i);
    for (const auto& [name, value] : counts) taken.facts[fmt::format("{}.{}", prefix, name)] = fact_of(value);
    if (all.size() == 1) taken.estimates = estimates_of(counts);
  }
  return taken;
}

std::vector<Series> take_session_series(Instances& instances) {
  std::vector<Series> all;
  for (size_t i = 0; i < instances.all().size(); ++i) {
    auto* source = dynamic_cast<SeriesSource*>(instances.all()[i].session);
    if (source == nullptr) continue;
    for (Series& series : source->take_series()) {
      if (instances.all().size() > 1) series.probe += fmt::format(".{}", i);
      all.push_back(std::move(series));
    }
  }
  return all;
}

}  // namespace deepgap
