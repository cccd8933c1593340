// A grid in randomised blocks: what drifts on a machine over minutes and hours then hits all Points alike, instead of the ones that come
// last (R. A. Fisher's blocking; docs/explanation/methodology.md). One block holds one repeat of every Point.
#include "plan/planner.h"
#include "plan/shuffle.h"

#include "record/duel_set.h"
#include "record/load_axis.h"
#include "record/record_json.h"
#include "record/tenant_set.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

constexpr const char* skipped_group = "skipped";

// Brings Points that differ in their load alone behind the first of them: their process loads the Sessions that they share once.
void join_loads(std::vector<Job>& jobs) {
  const auto has_load = [](const Job& job) { return load_of(job.point).has_value(); };
  if (jobs.size() < 3 || !std::any_of(jobs.begin(), jobs.end(), has_load)) return;
  std::map<std::string, size_t> first;  // by the Point without its load
  std::vector<std::pair<size_t, Job>> placed;
  placed.reserve(jobs.size());
  for (Job& job : jobs) {
    const size_t place = first.emplace(point_id(without_load(job.point)), placed.size()).first->second;
    placed.emplace_back(place, std::move(job));
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < jobs.size(); ++i) jobs[i] = std::move(placed[i].second);
}

class GridPlanner : public Planner {
 public:
  GridPlanner(std::vector<Job> jobs, uint64_t seed, const std::function<std::string(const Job&)>& group_key,
              const std::set<std::pair<std::string, int>>& finished) {
    std::map<int, std::map<std::string, std::vector<Job>>> blocks;  // repeat -> group -> jobs, in an order that is the same everywhere
    for (Job& job : jobs) {
      if (finished.count({job.point_id, job.repeat}) != 0) continue;
      const std::string group = job.skip_reason.empty() ? group_key(job) : skipped_group;
      blocks[job.repeat][group].push_back(std::move(job));
      ++remaining_;
    }
    std::mt19937_64 random(seed);
    for (auto& [repeat, groups] : blocks) add_block(groups, random);
  }

  Batch next() override {
    if (position_ == batches_.size()) return {};
    Batch batch = std::move(batches_[position_++]);
    remaining_ -= batch.jobs.size();
    return batch;
  }
  void done(const Record& /*record*/) override {}
  size_t remaining() const override { return remaining_; }

 private:
  void add_block(std::map<std::string, std::vector<Job>>& groups, std::mt19937_64& random) {
    std::vector<Batch> block;
    for (auto& [group, jobs] : groups) {
      const bool together = tenant_place(jobs.front().point) || contender_place(jobs.front().point) || jobs.front().interleave;
      if (!together) {
        shuffle(jobs, random);
        join_loads(jobs);
      }
      block.push_back({group, std::move(jobs)});
    }
    shuffle(block, random);
    for (Batch& batch : block) batches_.push_back(std::move(batch));
  }

  std::vector<Batch> batches_;
  size_t position_ = 0;
  size_t remaining_ = 0;
};

}  // namespace

std::unique_ptr<Planner> make_grid_planner(std::vector<Job> jobs, uint64_t seed, const std::function<std::string(const Job&)>& group_key,
                                           const std::set<std::pair<std::string, int>>& finished) {
  return std::make_unique<GridPlanner>(std::move(jobs), seed, group_key, finished);
}

}  // namespace deepgap
