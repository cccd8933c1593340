// A Record of a worker on a machine where somebody else works now and then, made by formula: the timings of queries one after the other,
// and the series that the probes `slices` and `proc` would have read. For tests and bench/coverage.
#pragma once

#include <deepgap/record.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace deepgap {

struct Disturber {
  double quiet_s = 0.5, busy_s = 0.5;  // means of the random lengths of its pauses and of its work; 0: it never pauses, never works
  double keeps = 0.5;                  // share of our speed that we keep while it works on our CPU
  double waits = 0.5;                  // share of its working time that our thread waits; 0: it works on another CPU
  double chills_s = 0.003;             // caches are cold for so long behind its work, and we 20 % slower
};

class DisturbedMachine {
 public:
  DisturbedMachine(std::mt19937_64& random, const Disturber& disturber) : random_(random), disturber_(disturber) {
    is_busy_ = disturber.quiet_s <= 0;
    until_ = length();
  }

  // Queries that undisturbed take what `query_s` gives, for so long.
  Record measure(const std::function<double()>& query_s, double window_s) {
    Record record;
    record.series = {{"slices", "run_delay", "s", true, {}, {}},
                     {"proc", "cpu_time", "s", true, {}, {}},
                     {"proc", "machine_busy", "s", true, {}, {}},
                     {"proc", "machine_idle", "s", true, {}, {}},
                     {"proc", "machine_steal", "s", true, {}, {}}};
    read(record);
    uint64_t number = 0;
    while (now_ < window_s) {
      const double begin = now_;
      for (double left = query_s(); left > 0;) left -= advance(record, left);
      record.timings.push_back({number++, ns(begin), ns(begin), ns(now_), 1, Status::ok});
    }
    next_slice_ = next_sample_ = now_;
    read(record);
    record.windows = {{"steady", 0, ns(now_)}};
    return record;
  }

 private:
  static Nanoseconds ns(double seconds) { return static_cast<Nanoseconds>(std::llround(seconds * 1e9)); }
  static double ticks(double seconds) { return std::floor(seconds * 100) / 100; }

  double length() {
    const double mean = is_busy_ ? disturber_.busy_s : disturber_.quiet_s;
    return mean > 0 ? std::exponential_distribution<double>(1 / mean)(random_) : 1e9;
  }

  // Advances until the next change or reading, or until so much work is done; returns the work that was done.
  double advance(Record& record, double work) {
    const bool is_cold = !is_busy_ && since_busy_ < disturber_.chills_s;
    const double speed = is_busy_ ? disturber_.keeps : is_cold ? 1 / 1.2 : 1;
    double step = std::min({work / speed, until_ - in_state_, next_slice_ - now_});
    if (is_cold) step = std::min(step, disturber_.chills_s - since_busy_);
    step = std::max(step, 1e-9);
    now_ += step;
    in_state_ += step;
    if (is_busy_) {
      waited_ += disturber_.waits * step;
      others_ += step;
      since_busy_ = 0;
    } else {
      since_busy_ += step;
    }
    if (in_state_ >= until_) {
      is_busy_ = !is_busy_ && disturber_.busy_s > 0;
      if (disturber_.quiet_s <= 0) is_busy_ = true;
      in_state_ = 0;
      until_ = length();
    }
    if (now_ >= next_slice_) read(record);
    return step * speed;
  }

  // A wait shows when it is over: every 3 ms of it.
  void read(Record& record) {
    const auto add = [&](size_t series, double value) {
      record.series[series].times.push_back(ns(now_));
      record.series[series].values.push_back(value);
    };
    add(0, std::floor(waited_ / 0.003) * 0.003);
    next_slice_ = now_ + 0.02 + std::uniform_real_distribution<double>(0, 0.002)(random_);
    if (now_ < next_sample_) return;
    next_sample_ = now_ + 0.1;
    const double own = now_ - waited_;
    add(1, own);
    add(2, ticks(own + others_));
    add(3, ticks(std::max(0.0, 2 * now_ - own - others_)));
    add(4, 0);
  }

  std::mt19937_64& random_;
  Disturber disturber_;
  bool is_busy_ = false;
  double now_ = 0, in_state_ = 0, until_ = 0, since_busy_ = 1e9;
  double waited_ = 0, others_ = 0;
  double next_slice_ = 0, next_sample_ = 0;
};

}  // namespace deepgap
