// Sources of query times with known truth: what happens to a measurement on a machine, made by formula. For the tests of this folder, of
// src/scenario and src/analysis, and for bench/coverage. Each is a function of the time at which the query begins (seconds since the
// process began) and of its own random numbers, and gives how long the query takes, in seconds.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace deepgap {

struct QuerySource {
  std::function<double(double now)> next;
  double mean = 0;    // long-run mean time of a query
  double median = 0;  // long-run median; 0: not known in closed form
};

using Random = std::mt19937_64;

inline QuerySource white_source(Random& random, double mean, double cv) {
  return {[&random, mean, cv](double) { return std::max(mean * (1 + cv * std::normal_distribution<double>()(random)), mean * 0.01); }, mean,
          mean};
}

inline QuerySource lognormal_source(Random& random, double mean, double sigma) {
  const double median = mean / std::exp(sigma * sigma / 2);
  return {[&random, median, sigma](double) { return median * std::exp(sigma * std::normal_distribution<double>()(random)); }, mean, median};
}

// Query after query resembles the one before: lag-1 correlation `rho`, stationary from the first.
inline QuerySource ar1_source(Random& random, double mean, double cv, double rho) {
  auto state = std::make_shared<double>(std::normal_distribution<double>()(random));
  return {[&random, mean, cv, rho, state](double) {
            const double value = mean * (1 + cv * *state);
            *state = rho * *state + std::sqrt(1 - rho * rho) * std::normal_distribution<double>()(random);
            return std::max(value, mean * 0.01);
          },
          mean, mean};
}

// Two speeds, `apart` from each other, that last for a random time of mean `dwell` seconds each (0: for one query). White scatter of 1 %.
inline QuerySource modes_source(Random& random, double mean, double apart, double dwell) {
  const double fast = mean * (1 - apart / 2), slow = mean * (1 + apart / 2);
  auto is_slow = std::make_shared<bool>(std::bernoulli_distribution(0.5)(random));
  auto until = std::make_shared<double>(dwell > 0 ? std::exponential_distribution<double>(1 / dwell)(random) : 0);
  return {[=, &random](double now) {
            if (dwell == 0) *is_slow = std::bernoulli_distribution(0.5)(random);
            while (dwell > 0 && now >= *until) {
              *is_slow = !*is_slow;
              *until += std::exponential_distribution<double>(1 / dwell)(random);
            }
            return (*is_slow ? slow : fast) * (1 + 0.01 * std::normal_distribution<double>()(random));
          },
          // By time half of it is fast: queries a second are the mean of both rates.
          dwell > 0 ? 2 / (1 / fast + 1 / slow) : mean, 0};
}

// One query in `every` takes `factor` times as long.
inline QuerySource spikes_source(Random& random, double mean, int every, double factor) {
  const double usual = mean / (1 + (factor - 1) / every);
  return {[=, &random](double) {
            const double time = usual * (1 + 0.02 * std::normal_distribution<double>()(random));
            return std::bernoulli_distribution(1.0 / every)(random) ? factor * time : time;
          },
          mean, 0};
}

// Somebody else's work: every `period` seconds, for `length` seconds, queries take `factor` times as long. The phase is random.
inline QuerySource interference_source(Random& random, double usual, double period, double length, double factor) {
  const double phase = std::uniform_real_distribution<double>(0, period)(random);
  const double rate = ((period - length) + length / factor) / period / usual;
  return {[=, &random](double now) {
            const double time = usual * (1 + 0.01 * std::normal_distribution<double>()(random));
            return std::fmod(now + phase, period) < length ? factor * time : time;
          },
          1 / rate, 0};
}

// Swings by `share` up and down, as a GPU's clock does at its power limit. The swings take `period` seconds each, a fifth more or less. The
// phase is random.
inline QuerySource swings_source(Random& random, double mean, double share, double period) {
  struct State {
    double phase, rate, at = 0;  // swings that have passed, and a second, at that time
  };
  const auto rate_of = [&random, period] { return 1 / (period * std::max(0.3, 1 + 0.2 * std::normal_distribution<double>()(random))); };
  auto state = std::make_shared<State>(State{std::uniform_real_distribution<double>(0, 1)(random), rate_of()});
  const double usual = mean / std::sqrt(1 - share * share);  // the mean of the rate over a swing is 1 / (usual sqrt(1 - share^2))
  return {[=, &random](double now) {
            const double whole = std::floor(state->phase);
            state->phase += (now - state->at) * state->rate;
            state->at = now;
            if (std::floor(state->phase) > whole) state->rate = rate_of();
            return usual * (1 + share * std::sin(2 * 3.14159265358979 * state->phase)) *
                   (1 + 0.005 * std::normal_distribution<double>()(random));
          },
          mean, 0};
}

// Slower by `share` over 30 s, evenly. No stationary truth.
inline QuerySource drift_source(Random& random, double mean, double share) {
  return {[=, &random](double now) { return mean * (1 + share * now / 30) * (1 + 0.01 * std::normal_distribution<double>()(random)); }, 0,
          0};
}

// Slower by `share` from `at` seconds on, as a clock that is held back. No stationary truth.
inline QuerySource throttle_source(Random& random, double mean, double share, double at) {
  return {[=, &random](double now) { return mean * (now >= at ? 1 + share : 1) * (1 + 0.01 * std::normal_distribution<double>()(random)); },
          0, 0};
}

// Begins `share` slower and decays with time constant `tau` seconds; the truth is the end.
inline QuerySource warming_source(Random& random, double mean, double share, double tau) {
  return {[=, &random](double now) {
            return mean * (1 + share * std::exp(-now / tau)) * (1 + 0.02 * std::normal_distribution<double>()(random));
          },
          mean, mean};
}

// Returns the source in a process with a speed of its own: a normal factor of that standard deviation. The truth is over all processes.
inline QuerySource in_a_process(Random& random, QuerySource source, double scatter) {
  const double factor = std::max(1 + scatter * std::normal_distribution<double>()(random), 0.1);
  return {[next = std::move(source.next), factor](double now) { return factor * next(now); }, source.mean, source.median};
}

}  // namespace deepgap
