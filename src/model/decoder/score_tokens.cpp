#include "model/decoder/score_tokens.h"

#include <vector>

namespace deepgap {

void score_tokens(DecoderSteps& steps, std::span<const int64_t> tokens, size_t first, const ScoresReceiver& receive) {
  const auto count = static_cast<int64_t>(tokens.size());
  if (steps.cache_context() < count) steps.make_cache(1, count);
  std::vector<DecoderRow> rows;
  std::vector<size_t> asked;  // positions whose scores the step makes
  const auto run = [&] {
    if (rows.empty()) return;
    steps.run(rows);
    for (size_t n = 0; n < asked.size(); ++n) receive(asked[n], steps.scores(n));
    rows.clear();
    asked.clear();
  };
  const auto most_rows = static_cast<size_t>(steps.most_rows());
  for (size_t position = 0; position < tokens.size(); ++position) {
    const bool wanted = position >= first;
    // Some engines know only after their first step how many scores they give.
    if (position == first || rows.size() == most_rows || (wanted && asked.size() == static_cast<size_t>(steps.most_scores()))) run();
    rows.push_back({0, static_cast<int64_t>(position), tokens[position], wanted});
    if (wanted) asked.push_back(position);
  }
  run();
}

}  // namespace deepgap
