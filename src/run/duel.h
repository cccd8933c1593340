// Duel: the arms of --duel take turns until every one of them differs from the first or is known to be the same, and the shortest duration
// asked for has passed, or until the budget is spent. One that fails leaves nothing to compare. Main thread only.
#pragma once

#include "run/turn_session.h"
#include "worker/output_sketch.h"

#include <string>
#include <vector>

namespace deepgap {

class Supervisor::Duel final : public TurnSession {
 public:
  Duel(Supervisor& supervisor, const std::vector<Job>& jobs);

 private:
  std::string name(size_t arm) const override;
  std::string progress_words(size_t arm) const override;
  void keep_loaded(size_t arm, const nlohmann::json& said) override;
  void all_loaded() override;
  bool settled() const override;
  void judge(size_t arm, Record& record) const override;
  void judge_first(Record& record) const;
  void judge_other(size_t arm, Record& record) const;
  bool is_open(size_t arm) const;

  std::vector<OutputSketch> answers_;
};

}  // namespace deepgap
