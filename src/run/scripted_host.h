// Workers for tests: they are scripts, with a time of their own that passes only while the parent waits.
#pragma once

#include "record/record_json.h"
#include "record/timing_block.h"
#include "run/worker_link.h"
#include "worker/order.h"

#include <deepgap/error.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// Returns the kind of a frame: "run", "record", "turn" ...
inline std::string kind_of(const Frame& frame) { return frame.header.value("kind", ""); }

// Returns what measure() would send for the order in `request`: from 1 s to 2 s it was in `window`.
inline Frame scripted_record(const Frame& request, Outcome outcome, const std::string& reason, const std::string& window,
                             std::vector<Timing> timings, double throughput) {
  constexpr Nanoseconds second = 1'000'000'000;
  Record record = begin_record(order_from_json(request.header.at("order")));
  record.outcome = outcome;
  record.verdict = outcome == Outcome::ok ? Verdict::valid : Verdict::none;
  record.reason = reason;
  record.windows = {{window, second, 2 * second}};
  record.timings = std::move(timings);
  record.estimates["throughput"] = {throughput, {}, {}, 1};
  return {{{"kind", "record"}, {"record", record_to_json(record)}}, {encode_timings(record.timings), encode_series({})}};
}

class ScriptedHost;

class ScriptedLink final : public WorkerLink {
 public:
  // The reaction of the worker to a frame that its parent sends.
  using Script = std::function<void(ScriptedLink&, const Frame&)>;
  ScriptedLink(ScriptedHost& host, Script script) : host_(host), script_(std::move(script)) {}
  ~ScriptedLink() override;

  // The worker's: what happens after so much time. It goes silent by doing nothing.
  void say(Nanoseconds after, Frame frame);
  void say(Nanoseconds after, const char* kind, const nlohmann::json& payload = nullptr) {
    say(after, Frame{{{"kind", kind}, {"payload", payload}}, {}});
  }
  void beat(Nanoseconds after, const std::string& phase) { say(after, Frame{{{"kind", "heartbeat"}, {"phase", phase}, {"done", 1}}, {}}); }
  void speak_nonsense(Nanoseconds after) { say(after, Frame{nullptr, {}}); }
  void die(Nanoseconds after, ExitState state);

  bool send(const Frame& frame) override {
    if (ended()) return false;
    script_(*this, frame);
    return true;
  }
  std::optional<Frame> take() override;
  bool ended() const override;
  void send_signal(int number) override { signals.push_back(number); }
  ExitState exit_state() override { return state_; }
  std::string output_tail() override { return "its last words"; }

  // When the next thing happens; never: nothing does.
  Nanoseconds next_at() const { return std::min(said_.empty() ? never : said_.front().first, dies_at_); }
  std::vector<int> signals;

 private:
  ScriptedHost& host_;
  Script script_;
  std::deque<std::pair<Nanoseconds, Frame>> said_;
  Nanoseconds dies_at_ = never;
  ExitState state_;
};

// start() gives out the scripts in their order.
class ScriptedHost final : public WorkerHost {
 public:
  std::vector<ScriptedLink::Script> scripts;
  Nanoseconds interrupt_at = never;
  int alive = 0;
  size_t started = 0;

  std::unique_ptr<WorkerLink> start(const Point& /*point*/) override {
    if (started == scripts.size()) throw Error(ErrorKind::internal, "the system has no process left");
    ++alive;
    return std::make_unique<ScriptedLink>(*this, scripts[started++]);
  }
  Nanoseconds now() override { return now_; }
  bool wait(std::span<WorkerLink* const> links, Nanoseconds deadline) override {
    Nanoseconds next = std::min(deadline, interrupts_ == 0 ? interrupt_at : never);
    for (WorkerLink* link : links) next = std::min(next, static_cast<ScriptedLink*>(link)->next_at());
    if (next == never) throw Error(ErrorKind::internal, "would wait forever");
    now_ = std::max(now_, next);
    if (interrupts_ > 0 || now_ < interrupt_at) return false;
    ++interrupts_;
    return true;
  }
  int interrupts() const override { return interrupts_; }

 private:
  Nanoseconds now_ = 0;
  int interrupts_ = 0;
};

inline ScriptedLink::~ScriptedLink() { --host_.alive; }

inline void ScriptedLink::say(Nanoseconds after, Frame frame) { said_.emplace_back(host_.now() + after, std::move(frame)); }

inline void ScriptedLink::die(Nanoseconds after, ExitState state) {
  dies_at_ = host_.now() + after;
  state_ = state;
}

inline std::optional<Frame> ScriptedLink::take() {
  if (said_.empty() || said_.front().first > host_.now()) return std::nullopt;
  Frame frame = std::move(said_.front().second);
  said_.pop_front();
  if (frame.header.is_null()) throw Error(ErrorKind::internal, "broken frame");
  return frame;
}

inline bool ScriptedLink::ended() const { return said_.empty() && host_.now() >= dies_at_; }

}  // namespace deepgap
