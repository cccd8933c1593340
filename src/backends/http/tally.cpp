#include "backends/http/tally.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace deepgap {
namespace {

constexpr size_t most_delays = 4'000'000;

// Nearest rank, of sorted values.
double percentile_of(const std::vector<float>& sorted, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return static_cast<double>(sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1]);
}

}  // namespace

void Tally::add(const RequestCost& cost) {
  const std::lock_guard lock(mutex_);
  ++requests_;
  failed_ += cost.failed ? 1 : 0;
  connections_ += cost.connections;
  sent_ += cost.sent;
  received_ += cost.received;
  if (cost.header_bytes >= 0)
    headers_ += cost.header_bytes;
  else
    headers_are_known_ = false;
  if (cost.send_delay >= 0 && delays_us_.size() < most_delays) delays_us_.push_back(static_cast<float>(cost.send_delay) / 1e3F);
}

std::map<std::string, double> Tally::take() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, double> counts;
  if (requests_ == 0) return counts;
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  counts = {{"requests", number(requests_)}, {"requests.failed", number(failed_)},
            {"requests.sent_again", 0},      {"connections.opened", number(connections_)},
            {"sent_bytes", number(sent_)},   {"received_bytes", number(received_)}};
  if (headers_are_known_) counts["header_bytes"] = number(headers_);
  if (!delays_us_.empty()) {
    std::sort(delays_us_.begin(), delays_us_.end());
    counts["send_delay_p50_us"] = percentile_of(delays_us_, 50);
    counts["send_delay_p99_us"] = percentile_of(delays_us_, 99);
    counts["send_delay_max_us"] = static_cast<double>(delays_us_.back());
  }
  delays_us_.clear();
  requests_ = failed_ = connections_ = sent_ = received_ = headers_ = 0;
  headers_are_known_ = true;
  return counts;
}

}  // namespace deepgap
