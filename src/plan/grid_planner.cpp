// A grid in randomised blocks: what drifts on a machine over minutes and hours then hits all Points alike, instead of the ones that come
// last (R. A. Fisher's blocking; docs/explanation/methodology.md). One block holds one repeat of every Point.
#include "plan/planner.h"
#include "plan/shuffle.h"

#include "record/duel_set.h"
#include "record/tenant_set.h"

#include <map>

namespace deepgap {
namespace {

constexpr const char* skipped_group = "skipped";

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
      if (!together) shuffle(jobs, random);
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
