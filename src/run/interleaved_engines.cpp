#include "run/interleaved_engines.h"

#include "analysis/duel/undisturbed_ratio.h"
#include "base/quantity.h"
#include "base/text.h"
#include "plan/shuffle.h"
#include "record/duel_set.h"
#include "record/record_json.h"
#include "run/interleave.h"
#include "worker/memory_limit.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>
#include <utility>

namespace deepgap {
namespace {

// A waiting engine may spin for as long as the next one's slice leaves out at its beginning: a tenth, on each of its threads. Telemetry
// reads for a little besides.
constexpr double waiting_share_allowed = 0.1, waiting_cpus_allowed = 0.05;
constexpr int64_t rounds_watched = 4;  // for that
// Memory that must be available for the next engine, over the most that one of those before has used.
constexpr double memory_margin = 1.25;

bool may_lack_room(Outcome outcome) {
  return outcome == Outcome::out_of_memory || outcome == Outcome::crashed || outcome == Outcome::device_lost;
}

}  // namespace

Supervisor::InterleavedEngines::InterleavedEngines(Supervisor& supervisor, const std::vector<Job>& jobs, std::vector<Worker>* idle)
    : TurnSession(supervisor, jobs, idle,
                  {.slice = slice_length(jobs.front().stopping), .margin = interleaved_margin, .needs_first = false, .own_windows = true}),
      ended_its_window_(jobs.size(), false) {}

std::string Supervisor::InterleavedEngines::progress_words(size_t /*arm*/) const {
  return fmt::format("{} rounds of time slices", score_.rounds());
}

// The machine's memory is not to be filled by engines that wait: where the next one may not find as much as the largest took, it and those
// behind it are measured apart.
bool Supervisor::InterleavedEngines::has_room_for(size_t arm) {
  if (most_memory_ <= 0) return true;
  const auto available = memory_for_worker(SystemRoot("/"));
  if (!available || static_cast<double>(*available) >= memory_margin * most_memory_) return true;
  for (size_t i = arm; i < jobs_.size(); ++i) measure_apart(i, "memory does not suffice for all engines together");
  return false;
}

void Supervisor::InterleavedEngines::keep_loaded(size_t /*arm*/, const nlohmann::json& said) {
  most_memory_ = std::max(most_memory_, said.value("memory_bytes", 0.0));
}

void Supervisor::InterleavedEngines::keep_turn(size_t arm, const nlohmann::json& done, int64_t round) {
  ended_its_window_[arm] = done.at("ended").get<bool>();
  watch_waiting(arm, done.value("cpus_waiting", 0.0), round);
}

// An engine whose threads go on spinning takes CPUs from the one that is measured.
void Supervisor::InterleavedEngines::watch_waiting(size_t arm, double cpus, int64_t round) {
  if (round > rounds_watched || arms_taking_part() < 2) return;
  if (cpus <= waiting_share_allowed * jobs_[arm].point.threads + waiting_cpus_allowed) return;
  const std::string why = fmt::format("{} uses {} CPUs while it waits for its turn", name(arm), number_text(cpus));
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (takes_part(i)) measure_apart(i, why);
  }
}

bool Supervisor::InterleavedEngines::settled() const {
  return std::all_of(arms_.begin(), arms_.end(), [&](size_t arm) { return !takes_part(arm) || ended_its_window_[arm]; });
}

std::string Supervisor::InterleavedEngines::why_apart_after(const Record& failed) const {
  if (!may_lack_room(failed.outcome) || arms_taking_part() == 0) return {};
  return fmt::format("{} beside other engines: {}", name_of(failed.outcome), failed.reason);
}

// The worker judged its window; what the slices together show is added.
void Supervisor::InterleavedEngines::judge(size_t arm, Record& record) const {
  const auto place = std::find(arms_.begin(), arms_.end(), arm) - arms_.begin();
  if (arms_.size() < 2 || static_cast<size_t>(place) == arms_.size()) return;
  std::vector<std::string> names;
  for (const size_t i : arms_) names.push_back(name(i));
  record.facts[interleaved_arms_fact] = join(names, " + ");
  record.facts[interleaved_arm_fact] = fmt::format("{}/{}", place + 1, arms_.size());
  record.facts["interleaved.slice_ms"] = static_cast<double>(rules_.slice) / 1e6;
  if (place == 0) return;
  if (const auto ratio = undisturbed(arm)) record.estimates[undisturbed_ratio_metric] = *ratio;
  const DuelStanding shown = standing(arm);
  const double needs = keep_ratio(shown, record);
  std::string words = duel_words(shown, names.front(), rules_.margin);
  if (needs > 0 && shown.difference == Difference::unknown) words += fmt::format("; needs {} more", needed_words(needs));
  record.facts[interleaved_result_fact] = words;
}

// Sets follow each other in random order.
void Supervisor::serve_interleaved(const Batch& batch, const Receiver& receive) {
  std::vector<std::vector<size_t>> sets = interleaved_sets(batch.jobs);
  std::mt19937_64 random(settings_.seed + static_cast<uint64_t>(batch.jobs.front().repeat));
  shuffle(sets, random);
  std::vector<Worker> idle;
  for (const std::vector<size_t>& set : sets) {
    if (host_.interrupts() > 0) return;
    std::vector<Job> jobs;
    for (const size_t i : set) jobs.push_back(batch.jobs[i]);
    std::vector<Record> records = run_interleaved(jobs, idle);
    for (size_t i = 0; i < set.size(); ++i) receive(batch.jobs[set[i]], std::move(records[i]));
  }
}

// Engines that could not take part are measured after the others.
std::vector<Record> Supervisor::run_interleaved(const std::vector<Job>& jobs, std::vector<Worker>& idle) {
  const auto alone = [&](const Job& job) {
    std::optional<Worker> fresh;
    return run(job, fresh);
  };
  if (jobs.size() == 1) return {alone(jobs.front())};
  std::vector<Record> records;
  InterleavedEngines engines(*this, jobs, &idle);
  std::vector<std::optional<Record>> found = engines.run();
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (found[i]) {
      records.push_back(std::move(*found[i]));
      continue;
    }
    if (settings_.note) settings_.note(fmt::format("note: {} is measured apart: {}", jobs[i].point.backend, engines.apart(i)));
    records.push_back(alone(jobs[i]));
    records.back().facts["interleaved.apart"] = engines.apart(i);
  }
  return records;
}

}  // namespace deepgap
