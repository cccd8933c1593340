#include "run/duel.h"

#include "analysis/duel/undisturbed_ratio.h"
#include "base/quantity.h"
#include "record/duel_set.h"
#include "record/identity.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

// Two that are each so near to the truth may be apart by the sum of both errors.
constexpr double both_errors_db = 6;

}  // namespace

Supervisor::Duel::Duel(Supervisor& supervisor, const std::vector<Job>& jobs)
    : TurnSession(supervisor, jobs, nullptr, {.margin = jobs.front().stopping.interval, .budget = jobs.front().stopping.budget}),
      answers_(jobs.size()) {}

std::string Supervisor::Duel::name(size_t arm) const { return contender_name(jobs_[arm].point); }

std::string Supervisor::Duel::progress_words(size_t arm) const {
  return fmt::format("{} pairs of time slices, {} times that of {}", score_.rounds(), number_text(standing(arm).ratio), name(0));
}

void Supervisor::Duel::keep_loaded(size_t arm, const nlohmann::json& said) { answers_[arm] = sketch_from_json(said.at("answers")); }

// Refuses arms with other answers. Those that were held against one reference have the same answers already.
void Supervisor::Duel::all_loaded() {
  const Point& first = jobs_[0].point;
  for (size_t i = 1; i < jobs_.size(); ++i) {
    const Point& own = jobs_[i].point;
    if (!takes_part(i) || !jobs_[i].check) continue;
    if (model_key(own) == model_key(first) && dataset_key(own) == dataset_key(first)) continue;
    const double wanted = std::min(answers_[0].min_sqnr_db, answers_[i].min_sqnr_db) - both_errors_db;
    const std::string differs = difference_words(answers_[0], answers_[i], wanted);
    if (!differs.empty()) refuse(i, fmt::format("{} gives other answers than {}: {}", name(i), name(0), differs));
  }
}

bool Supervisor::Duel::settled() const {
  if (kept_s_ * 1e9 < static_cast<double>(jobs_.front().stopping.duration.value_or(0))) return false;
  return std::all_of(arms_.begin(), arms_.end(),
                     [&](size_t arm) { return arm == 0 || !takes_part(arm) || standing(arm).difference != Difference::unknown; });
}

void Supervisor::Duel::judge(size_t arm, Record& record) const {
  record.facts["duel.pairs"] = score_.rounds();
  record.facts["duel.slice_ms"] = static_cast<double>(rules_.slice) / 1e6;
  arm == 0 ? judge_first(record) : judge_other(arm, record);
}

// Where the machine was too busy for whole slices, their undisturbed parts may still show it.
bool Supervisor::Duel::is_open(size_t arm) const {
  if (standing(arm).difference != Difference::unknown) return false;
  const auto ratio = undisturbed(arm);
  return !ratio || difference_of({*ratio->low, *ratio->high}, rules_.margin) == Difference::unknown;
}

void Supervisor::Duel::judge_first(Record& record) const {
  size_t open = 0;
  for (size_t i = 1; i < jobs_.size(); ++i) open += is_open(i) ? 1 : 0;
  record.verdict = open == 0 ? Verdict::valid : Verdict::unstable;
  if (open > 0) record.reason = fmt::format("{} of {} arms show no significant difference from it: {}", open, jobs_.size() - 1, ending_);
}

void Supervisor::Duel::judge_other(size_t arm, Record& record) const {
  const DuelStanding shown = standing(arm);
  const std::string words = duel_words(shown, name(0), rules_.margin);
  record.facts["duel.result"] = words;
  const double needs = keep_ratio(shown, record);
  if (const auto ratio = undisturbed(arm)) record.estimates[undisturbed_ratio_metric] = *ratio;
  record.verdict = is_open(arm) ? Verdict::unstable : Verdict::valid;
  if (record.verdict == Verdict::valid) return;
  record.reason = fmt::format("{}; {}", words, ending_);
  if (needs > 0) record.reason += fmt::format("; needs {} more", needed_words(needs));
}

std::vector<Record> Supervisor::run_duel(const std::vector<Job>& jobs) {
  std::vector<Record> records;
  for (std::optional<Record>& record : Duel(*this, jobs).run()) records.push_back(std::move(*record));
  return records;
}

}  // namespace deepgap
