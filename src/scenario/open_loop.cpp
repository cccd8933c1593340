#include "scenario/open_loop.h"

#include "scenario/flight.h"
#include "stats/correlated.h"

#include <algorithm>

namespace deepgap {
namespace {

constexpr int64_t fewest_waits = 8;                   // below which a long wait is taken for one that grows
constexpr double growth_confidence = 0.98;            // two-sided: 1 % of queues that do not grow look as if they did
constexpr double finish_share = 0.1;                  // share of the window: to finish what is due
constexpr Nanoseconds shortest_finish = 100'000'000;  // but so long in any case
constexpr double lead_share = 0.2;                    // share of the window: queries that come before it
constexpr Nanoseconds longest_lead = 10'000'000'000;
constexpr double hopeless_share = 0.5;  // share of the lead: a wait this long at its end means twice the load that can be served

Nanoseconds share_of(Nanoseconds length, double share) { return static_cast<Nanoseconds>(static_cast<double>(length) * share); }

// So that an interrupt and a failure are noticed soon where queries are rare.
constexpr Nanoseconds longest_unheeded = 500'000'000;

class OpenLoop {
 public:
  OpenLoop(const Traffic& traffic, Clock& clock, const OpenLoopSettings& settings, std::unique_ptr<Schedule> schedule)
      : traffic_(traffic),
        clock_(clock),
        finish_due_(settings.finish_due),
        samples_left_(settings.total_samples.value_or(INT64_MAX)),
        schedule_(std::move(schedule)),
        flight_(traffic, clock, settings.in_flight > 0 ? settings.in_flight : traffic.target->limits().max_in_flight) {}

  void start(Nanoseconds now) {
    start_ = now_ = last_due_ = now;
    from_ = now + traffic_.lead;
    leads_ = traffic_.lead > 0;
    if (traffic_.duration < never - from_) until_ = from_ + traffic_.duration;
    look_ahead();
    if (has_enough()) end_offering(now);
  }

  // Issues what is due, takes what has finished, and sees whether it is time to end. True when something had finished.
  bool step() {
    if (phase_ != Phase::waiting) issue();
    const bool any = collect();
    if (phase_ == Phase::offering) look_for_the_end();
    if (phase_ == Phase::finishing) {
      if (due_ >= until_) {
        phase_ = Phase::waiting;
      } else if (now_ >= give_up_at_) {
        give_up();
      }
    }
    return any;
  }

  bool done() const { return phase_ == Phase::waiting && flight_.idle(); }

  // Waits until the next step() has something to do.
  void wait() {
    const Nanoseconds until = wake();
    if (flight_.await_completions(heeds_completions(until))) clock_.wait_until(until);
  }

  void cancel() {
    phase_ = Phase::waiting;
    recording_ = false;
    flight_.cancel();
  }

  void report() {
    if (traffic_.offered == nullptr || !finish_due_) return;
    offered_.begin = from_;
    offered_.length = end_ - from_;
    offered_.offered += offered_.waiting;
    *traffic_.offered = std::move(offered_);
  }

 private:
  // offering: the schedule goes on; finishing: what was due by its end is issued; waiting: for what is in flight alone.
  enum class Phase { offering, finishing, waiting };

  bool has_enough() const { return traffic_.stopping->state() != Stopping::State::more; }

  // Returns whether a wait until then is to end once a query is finished. If the next query does not hang on that and is soon due,
  // completions lie until it is sent: to wake this thread for each cost 8 to 16 % of the CPU time of a query by gRPC at 50 a second
  // (docs/reference/engines/kserve.md). What they may bring about, an end before the window's or a failure, comes that much later.
  bool heeds_completions(Nanoseconds until) const {
    const bool waits_for_room = phase_ == Phase::waiting || due_ == never || !flight_.has_room();
    const bool may_end_early = !finish_due_ || until_ == never;
    return waits_for_room || may_end_early || until - now_ > longest_unheeded;
  }

  // When there is something to do if nothing is finished before.
  Nanoseconds wake() const {
    if (phase_ == Phase::waiting) return never;
    const Nanoseconds end = leads_ ? from_ : phase_ == Phase::offering ? until_ : give_up_at_;
    return flight_.has_room() ? std::min(due_, end) : end;
  }

  void look_ahead() {
    const Nanoseconds after_start = samples_left_ > 0 ? schedule_->due() : never;
    due_ = after_start == never ? never : start_ + after_start;
  }

  // Once the lead is over. Where the load is too high the window would be of queries that nobody comes to: those that wait are put off.
  void begin_window() {
    leads_ = false;
    if (now_ - due_ > share_of(traffic_.lead, hopeless_share)) {
      start_ += now_ - due_;
      until_ += now_ - from_;
      from_ = due_ = now_;
    }
    if (traffic_.on_window) traffic_.on_window();
  }

  void issue() {
    now_ = clock_.now();
    if (leads_ && now_ >= from_) begin_window();
    while (due_ <= now_ && due_ < until_ && flight_.has_room()) {
      const int64_t samples = std::min(traffic_.batch, samples_left_);
      samples_left_ -= samples;
      last_late_ = flight_.add(due_, now_, samples);
      if (due_ >= from_) note_offered();
      last_due_ = due_;
      schedule_->take();
      look_ahead();
    }
    flight_.send();
  }

  void note_offered() {
    offered_.lateness.add(last_late_);
    note_wait(now_ - due_);
    ++offered_.offered;
  }

  bool collect() {
    for (const Timing& timing : flight_.collect()) {
      const bool failed = timing.status == Status::failed;
      if (!finish_due_ && has_enough()) recording_ = false;  // so that counts are exact
      const bool is_of_window = recording_ && timing.scheduled >= from_;
      if (is_of_window && traffic_.failures != nullptr) note_failures(traffic_, flight_, timing);
      schedule_->answered((failed ? std::max(timing.end, traffic_.failures->pause_until()) : timing.end) - start_);
      if (!is_of_window || timing.status != Status::ok) continue;
      traffic_.sink->add(timing);
      traffic_.stopping->add(std::span(&timing, 1));
      if (phase_ == Phase::offering || timing.end <= end_) ++offered_.finished_in_time;
    }
    look_ahead();
    return flight_.took_any();
  }

  void note_wait(Nanoseconds wait) {
    if (offered_.offered > 0) growth_.add(static_cast<double>(wait - last_wait_), 1);
    last_wait_ = wait;
  }

  // Returns whether waits grow; a query that waits at the end counts too, as if it were submitted then.
  bool waits_grow() {
    note_wait(end_ - due_);
    if (growth_.count() < fewest_waits) return true;
    const auto growth = growth_.estimate();
    return growth && growth->interval(growth_confidence).low > 0;
  }

  void look_for_the_end() {
    if (has_enough()) {
      end_offering(now_);
    } else if (due_ == never && flight_.idle()) {
      end_offering(last_due_);
    } else if (now_ >= until_ || (due_ != never && due_ >= until_)) {
      end_offering(until_);
    }
  }

  void end_offering(Nanoseconds end) {
    end_ = until_ = std::max(end, from_);
    phase_ = Phase::waiting;
    if (!finish_due_) {
      recording_ = false;
    } else if (due_ < until_) {
      const Nanoseconds length = end_ - from_;
      offered_.length = length;
      offered_.oldest_wait = end_ - due_;
      const bool is_long = offered_.has_long_wait();
      give_up_at_ = end_ + std::max(is_long ? length : share_of(length, finish_share), shortest_finish);
      phase_ = Phase::finishing;
      if (is_long && waits_grow()) give_up();
    }
  }

  // Counts what is due and will never be issued, so that it can be reported.
  void give_up() {
    offered_.oldest_wait = std::max(end_, now_) - due_;
    offered_.issuer_was_late = last_late_ > offered_.oldest_wait / 2;
    for (; due_ < until_ && offered_.waiting < most_waiting_counted; look_ahead()) {
      offered_.waiting += due_ >= from_ ? 1 : 0;
      schedule_->take();
    }
    phase_ = Phase::waiting;
  }

  const Traffic& traffic_;
  Clock& clock_;
  bool finish_due_;
  int64_t samples_left_;
  std::unique_ptr<Schedule> schedule_;
  Flight flight_;
  OfferedLoad offered_;
  RatioSeries growth_;         // differences of the waits from query to query, in nanoseconds
  Nanoseconds last_wait_ = 0;  // wait of the last query submitted
  Phase phase_ = Phase::offering;
  bool recording_ = true;
  bool leads_ = false;  // until the window begins
  Nanoseconds start_ = 0, now_ = 0;
  Nanoseconds from_ = 0;                      // queries due before this time are not in the window
  Nanoseconds due_ = 0, last_due_ = 0;        // due time of the next query, and of the last one issued
  Nanoseconds last_late_ = 0;                 // lateness of the last one issued
  Nanoseconds until_ = never;                 // queries due from this time on are not issued
  Nanoseconds end_ = 0, give_up_at_ = never;  // end of offering; end of finishing
};

}  // namespace

void drive_open_loop(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted, const OpenLoopSettings& settings,
                     const MakeSchedule& make_schedule) {
  OpenLoop loop(traffic, clock, settings, make_schedule());
  loop.start(clock.now());
  bool cancelled = false;
  while (!loop.done()) {
    if (!cancelled && interrupted.load(std::memory_order_relaxed)) {
      cancelled = true;
      loop.cancel();
    }
    const bool any = loop.step();
    // An endless wait is right: a completion ends it, and a Target that never completes is for the parent's time-out.
    if (!any && !loop.done()) loop.wait();
  }
  loop.report();
}

Nanoseconds ArrivalScenario::lead(Nanoseconds window) const {
  return window != never && make_lead_arrivals() != nullptr ? std::min(share_of(window, lead_share), longest_lead) : 0;
}

void ArrivalScenario::drive(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted) {
  OpenLoopSettings settings;
  settings.in_flight = in_flight_;
  drive_open_loop(traffic, clock, interrupted, settings, [&]() -> std::unique_ptr<Schedule> {
    auto before = traffic.lead > 0 ? make_lead_arrivals() : nullptr;
    if (before == nullptr) return std::make_unique<ArrivalSchedule>(make_arrivals());
    return std::make_unique<LeadSchedule>(std::move(before), traffic.lead, make_arrivals());
  });
}

}  // namespace deepgap
