// InterleavedEngines: engines of one run (Job::interleave), each a result of its own. Each takes slices until its own rule has ended, as
// when it is measured alone, and one that fails does not end the others. One that fails where it may be for want of room, and all of them
// where one disturbs the others while it waits, are measured apart after it. Main thread only.
#pragma once

#include "run/turn_session.h"

#include <string>
#include <vector>

namespace deepgap {

class Supervisor::InterleavedEngines final : public TurnSession {
 public:
  InterleavedEngines(Supervisor& supervisor, const std::vector<Job>& jobs, std::vector<Worker>* idle);

 private:
  std::string name(size_t arm) const override { return jobs_[arm].point.backend; }
  std::string progress_words(size_t arm) const override;
  bool has_room_for(size_t arm) override;
  void keep_loaded(size_t arm, const nlohmann::json& said) override;
  bool wants_turn(size_t arm) const override { return !ended_its_window_[arm]; }
  void keep_turn(size_t arm, const nlohmann::json& done, int64_t round) override;
  void watch_waiting(size_t arm, double cpus, int64_t round);
  bool settled() const override;
  std::string why_apart_after(const Record& failed) const override;
  bool cut_counts() const override { return supervisor_.settings_.keep_cut_windows; }
  void judge(size_t arm, Record& record) const override;

  std::vector<bool> ended_its_window_;
  double most_memory_ = 0;  // bytes that one of the loaded engines used
};

}  // namespace deepgap
