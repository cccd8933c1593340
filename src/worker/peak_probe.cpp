#include "worker/peak_probe.h"

#include "base/option_values.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

class UntilHopeless final : public Stopping {
 public:
  UntilHopeless(std::unique_ptr<Stopping> rule, const LatencyBound& bound, Nanoseconds duration, double rate)
      : rule_(std::move(rule)), bound_(bound), duration_(duration), offered_(rate * static_cast<double>(duration) / 1e9) {}
  std::string name() const override { return rule_->name(); }
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) {
      if (count_++ == 0) begin_ = timing.scheduled;
      end_ = std::max(end_, timing.end);
      if (timing.end - timing.scheduled > bound_.limit) ++missed_;
    }
    rule_->add(timings);
    hopeless_ = hopeless_ || is_hopeless();
  }
  State state() const override { return hopeless_ ? State::enough : rule_->state(); }
  std::string reason() const override {
    if (!hopeless_ || rule_->state() != State::more) return rule_->reason();
    return fmt::format("{} of {} queries after {} had missed the SLO {}: it could not be met any more", missed_, count_,
                       format_duration(end_ - begin_), bound_.text);
  }
  Estimate throughput() const override { return rule_->throughput(); }
  WindowVerdict verdict() const override { return rule_->verdict(); }

 private:
  // The verdict needs the fewest queries that determine the percentile, also after an early end.
  bool is_hopeless() const {
    constexpr double least_share = 0.05, headroom = 1.1;
    const double share = std::min(1.0, static_cast<double>(end_ - begin_) / static_cast<double>(duration_));  // windows may grow
    if (share < least_share || count_ < 2 * fewest_queries(bound_)) return false;
    const double most = headroom * std::max(offered_, static_cast<double>(count_) / share);
    return static_cast<double>(missed_) > most * (1 - bound_.percent / 100) + 1;
  }

  std::unique_ptr<Stopping> rule_;
  LatencyBound bound_;
  Nanoseconds duration_;
  double offered_;  // queries in the whole window
  int64_t count_ = 0, missed_ = 0;
  Nanoseconds begin_ = 0, end_ = 0;
  bool hopeless_ = false;
};

constexpr uint64_t repeats_apart = 4'294'967'311;  // users give seeds that follow each other

}  // namespace

void draw_own_stream(PointOptions& options, const std::vector<OptionInfo>& known, int repeat) {
  const OptionInfo* seed = find_option(known, "seed");
  if (seed == nullptr || repeat == 0) return;
  const auto given = options.backend.find("seed");
  const auto first = parse_int(given == options.backend.end() ? seed->default_value : given->second).value_or(0);
  options.backend["seed"] = std::to_string((static_cast<uint64_t>(first) + repeats_apart * static_cast<uint64_t>(repeat)) % INT64_MAX);
}

void draw_own_arrivals(PointOptions& options, const std::vector<OptionInfo>& known, int repeat) {
  constexpr uint64_t tenants_apart = 1'000'003;
  const uint64_t drawn = tenants_apart * static_cast<uint64_t>(options.arrivals) + repeats_apart * static_cast<uint64_t>(repeat);
  if (find_option(known, "seed") != nullptr) options.scenario["seed"] = std::to_string((options.seed + drawn) % INT64_MAX);
}

std::unique_ptr<Stopping> until_hopeless(std::unique_ptr<Stopping> rule, const LatencyBound& bound, Nanoseconds duration, double rate) {
  return std::make_unique<UntilHopeless>(std::move(rule), bound, duration, rate);
}

}  // namespace deepgap
