#include "run/worker_set.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

// Waits for some workers, and watches others, which may not end meanwhile.
class Waiting {
 public:
  struct Watched {
    size_t place;
    Worker* worker;
    bool waited;
    Nanoseconds heard_at;
  };

  explicit Waiting(const WaitSettings& wait_settings, Nanoseconds until = never) : wait_settings_(wait_settings), until_(until) {}
  void add(size_t place, Worker& worker, bool waited) { watched_.push_back({place, &worker, waited, wait_settings_.host.now()}); }
  bool waits() const {
    return std::any_of(watched_.begin(), watched_.end(), [](const Watched& w) { return w.waited; });
  }
  // No longer waited for, and watched only where it must live on.
  void answered(size_t place, bool lives_on) {
    if (!lives_on) return void(std::erase_if(watched_, [&](const Watched& w) { return w.place == place; }));
    for (Watched& w : watched_) {
      if (w.place == place) w.waited = false;
    }
  }

  Heard next() {
    for (;;) {
      for (Watched& watched : watched_) {
        if (auto answer = look(watched)) return {watched.place, std::move(*answer)};
      }
      const Watched* slowest = longest_silent();
      const Nanoseconds deadline = std::min(until_, slowest->heard_at + wait_settings_.timeout.count());
      if (wait_settings_.host.now() >= deadline) return {slowest->place, {Answer::Kind::silent, {}, {}}};
      if (wait_settings_.host.wait(links(), deadline)) return {first_waited().place, {Answer::Kind::interrupted, {}, {}}};
    }
  }

 private:
  std::optional<Answer> look(Watched& watched) {
    Worker& worker = *watched.worker;
    try {
      while (auto frame = worker.link->take()) {
        watched.heard_at = wait_settings_.host.now();
        if (frame->header.value("kind", "") == "heartbeat") {
          heartbeat(watched, *frame);
          continue;
        }
        if (watched.waited) return Answer{Answer::Kind::frame, std::move(*frame), {}};
        const std::string kind = frame->header.value("kind", "");
        return Answer{Answer::Kind::broken, {}, fmt::format("the worker sent '{}' without a request", kind)};
      }
    } catch (const std::exception& error) {
      return Answer{Answer::Kind::broken, {}, error.what()};
    }
    if (worker.link->ended()) return Answer{Answer::Kind::died, {}, {}};
    return std::nullopt;
  }

  void heartbeat(const Watched& watched, const Frame& frame) const {
    Worker& worker = *watched.worker;
    worker.phase = frame.header.value("phase", "");
    if (&first_waited() == &watched && wait_settings_.progress)
      wait_settings_.progress(*worker.job, worker.phase, frame.header.value("done", uint64_t{0}));
  }

  const Watched& first_waited() const {
    return *std::find_if(watched_.begin(), watched_.end(), [](const Watched& w) { return w.waited; });
  }
  const Watched* longest_silent() const {
    const Watched* slowest = nullptr;
    for (const Watched& w : watched_) {
      if (w.waited && (slowest == nullptr || w.heard_at < slowest->heard_at)) slowest = &w;
    }
    return slowest;
  }
  std::vector<WorkerLink*> links() const {
    std::vector<WorkerLink*> links;
    for (const Watched& w : watched_) links.push_back(w.worker->link.get());
    return links;
  }

  const WaitSettings& wait_settings_;
  Nanoseconds until_;
  std::vector<Watched> watched_;
};

}  // namespace

void send_order(Worker& worker, const char* kind) {
  worker.phase.clear();
  worker.link->send({{{"kind", kind}, {"order", order_to_json(worker.order)}}, {}});
}

Answer hear_one(const WaitSettings& wait_settings, Worker& worker, Nanoseconds until) {
  Waiting waiting(wait_settings, until);
  waiting.add(0, worker, true);
  return waiting.next().answer;
}

size_t WorkerSet::add(Worker worker) {
  workers_.push_back(std::move(worker));
  return workers_.size() - 1;
}

std::vector<size_t> WorkerSet::present() const {
  std::vector<size_t> present;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].link) present.push_back(i);
  }
  return present;
}

std::optional<Heard> WorkerSet::meet(const Agree& agree, const Otherwise& otherwise) {
  Payloads said(workers_.size(), nullptr);
  Waiting waiting(wait_settings_);
  for (const size_t i : present()) waiting.add(i, workers_[i], true);
  while (waiting.waits()) {
    Heard heard = waiting.next();
    if (heard.answer.is(turn_frame::meet)) {
      said[heard.worker] = heard.answer.frame.header["payload"];
      waiting.answered(heard.worker, true);
    } else if (heard.answer.kind != Answer::Kind::frame || !otherwise || !otherwise(heard.worker, heard.answer.frame)) {
      return heard;
    }
  }
  const Frame met{{{"kind", turn_frame::met}, {"payload", agree(said)}}, {}};
  for (const size_t i : present()) workers_[i].link->send(met);  // one that is gone is heard of with the next answer
  return std::nullopt;
}

std::optional<Heard> WorkerSet::ready(size_t worker, nlohmann::json& said, const Otherwise& otherwise) {
  Waiting waiting(wait_settings_);
  for (const size_t i : present()) waiting.add(i, workers_[i], i == worker);
  for (;;) {
    Heard heard = waiting.next();
    if (heard.worker == worker && heard.answer.is(turn_frame::ready)) {
      said = heard.answer.frame.header["payload"];
      return std::nullopt;
    }
    if (heard.answer.kind != Answer::Kind::frame || !otherwise || !otherwise(heard.worker, heard.answer.frame)) return heard;
  }
}

std::optional<Heard> WorkerSet::collect(const std::function<bool(size_t worker, const Frame& frame)>& take) {
  Waiting waiting(wait_settings_);
  for (const size_t i : present()) waiting.add(i, workers_[i], true);
  while (waiting.waits()) {
    Heard heard = waiting.next();
    if (heard.answer.kind != Answer::Kind::frame || !take(heard.worker, heard.answer.frame)) return heard;
    waiting.answered(heard.worker, false);
  }
  return std::nullopt;
}

Heard WorkerSet::turn(size_t worker, const nlohmann::json& payload) {
  Waiting waiting(wait_settings_);
  for (const size_t i : present()) waiting.add(i, workers_[i], i == worker);
  workers_.at(worker).link->send({{{"kind", turn_frame::turn}, {"payload", payload}}, {}});
  return waiting.next();
}

void WorkerSet::end_turns() {
  for (const size_t i : present()) workers_[i].link->send({{{"kind", turn_frame::over}}, {}});
}

}  // namespace deepgap
