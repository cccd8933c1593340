#include "worker/dispatch_record.h"
#include "base/quantity.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace deepgap {
namespace {

double share_of(int64_t part, int64_t whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0; }

constexpr size_t part_count = 60;

// Returns the equal part of the window in which `depth` was noted. What came after its last period began is in the last.
size_t part_of(const DepthLog& depth, Nanoseconds time) {
  const Nanoseconds begin = depth.times().front(), length = depth.times().back() - begin + 1;
  return std::min(static_cast<size_t>((time - begin) * static_cast<Nanoseconds>(part_count) / length), part_count - 1);
}

// Where nothing was noted in a part, nothing changed in it.
std::string depth_text(const DepthLog& depth) {
  std::vector<double> parts(part_count, -1);
  for (size_t i = 0; i < depth.times().size(); ++i) {
    double& part = parts[part_of(depth, depth.times()[i])];
    part = std::max(part, depth.depths()[i]);
  }
  std::vector<std::string> texts;
  double last = 0;
  for (const double part : parts) {
    last = part < 0 ? last : part;
    texts.push_back(fmt::format("{:.0f}", last));
  }
  return join(texts, " ");
}

// The mean of each part; "-" where no batch left.
std::string sizes_text(const DispatcherLog& log) {
  std::vector<BatchLog::Period> parts(part_count);
  for (const BatchLog::Period& period : log.sizes.periods()) {
    BatchLog::Period& part = parts[part_of(log.depth, period.begin)];
    part.batches += period.batches;
    part.samples += period.samples;
  }
  std::vector<std::string> texts;
  for (const BatchLog::Period& part : parts) texts.push_back(part.batches == 0 ? "-" : short_text(share_of(part.samples, part.batches), 4));
  return join(texts, " ");
}

}  // namespace

void keep_dispatcher_log(const DispatcherLog& log, Measured& measured) {
  int64_t batches = 0, samples = 0;
  for (size_t size = 1; size < log.batches.size(); ++size) {
    const int64_t count = log.batches[size];
    batches += count;
    samples += count * static_cast<int64_t>(size);
    if (count > 0) measured.facts[fmt::format("dispatcher.batches.{}", size)] = count;
  }
  for (size_t i = 0; i < log.instances.size(); ++i) {
    measured.facts[fmt::format("instance.{}", i)] = log.instances[i].name;
    measured.facts[fmt::format("instance.{}.share", i)] = share_of(log.instances[i].samples, samples);
  }
  measured.facts["dispatcher.depth"] = depth_text(log.depth);
  measured.facts["dispatcher.sizes"] = sizes_text(log);
  measured.facts["dispatcher.depth_s"] = static_cast<double>(log.depth.times().back() - log.depth.times().front()) / 1e9;
  measured.estimates["queue_depth_mean"] = {log.depth.mean(), {}, {}, log.queries};
  measured.estimates["queue_depth_max"] = {*std::max_element(log.depth.depths().begin(), log.depth.depths().end()), {}, {}, log.queries};
  measured.estimates["shed_share"] = {share_of(log.shed, log.queries), {}, {}, log.queries};
  if (batches > 0) {
    measured.estimates["batch_size_mean"] = {share_of(samples, batches), {}, {}, batches};
    measured.estimates["padding_share"] = {share_of(log.padding, samples + log.padding), {}, {}, batches};
  }
}

Series queue_depth_series(const DispatcherLog& log) {
  return {"dispatcher", "queue_depth", "1", false, log.depth.times(), log.depth.depths()};
}

std::string why_shed(const DispatcherLog& log, const DispatchOptions& options) {
  const double share = share_of(log.shed, log.queries);
  if (share <= options.shed_allowed) return {};
  return fmt::format(
      "{} of {} queries ({}) were shed (rejected because the queue is full), at most {} are allowed. Lower the load, raise instances, "
      "max_batch or queue_limit, or allow more with shed_allowed",
      log.shed, log.queries, percent_text(share, options.shed_allowed), chosen_percent_text(options.shed_allowed));
}

std::string keep_dispatch(Dispatcher* dispatcher, const DispatchOptions& options, Measured& measured) {
  if (dispatcher == nullptr) return {};
  const DispatcherLog log = dispatcher->take_log();
  keep_dispatcher_log(log, measured);
  measured.series.push_back(queue_depth_series(log));
  return why_shed(log, options);
}

int64_t shed_queries(const Measured& measured) {
  const auto shed = measured.estimates.find("shed_share");
  return shed == measured.estimates.end() ? 0 : std::llround(shed->second.value * static_cast<double>(shed->second.n));
}

}  // namespace deepgap
