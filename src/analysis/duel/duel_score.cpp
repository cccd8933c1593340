#include "analysis/duel/duel_score.h"

#include "analysis/words.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

std::string shape_words(SeriesShape shape) {
  switch (shape) {
    case SeriesShape::trend:
      return "drifted";
    case SeriesShape::step:
      return "changed at one moment";
    case SeriesShape::modes:
      return "took turns between two values";
    case SeriesShape::warming:
      return "was another one at the beginning";
    case SeriesShape::steady:
      break;
  }
  return "was steady";
}

}  // namespace

DuelScore::DuelScore(size_t contenders, double margin) {
  const double alpha = (1 - default_confidence) / static_cast<double>(contenders - 1);
  against_first_.assign(contenders - 1, PairedSequence(margin, 1 - alpha));
}

void DuelScore::add_round(std::span<const double> items_per_s) {
  ++rounds_;
  for (size_t i = 1; i < items_per_s.size(); ++i) against_first_.at(i - 1).add(items_per_s[i], items_per_s[0]);
}

DuelStanding DuelScore::standing(size_t contender) const {
  const PairedSequence& sequence = against_first_.at(contender - 1);
  DuelStanding standing{sequence.pairs(), sequence.ratio(), {}, SeriesShape::steady, sequence.decision(), sequence.pairs_needed()};
  if (const auto& look = sequence.last_look()) {
    standing.pairs = look->pairs;
    standing.ratio = look->ratio;
    standing.interval = look->interval;
    standing.shape = look->shape;
  } else {
    standing.pairs_needed = PairedSequence::first_look - sequence.pairs();
  }
  return standing;
}

std::string duel_words(const DuelStanding& standing, const std::string& first, double margin) {
  if (!standing.interval)
    return fmt::format("not told apart from that of {} after {}", first, count_of(standing.pairs, "pair of turns", "pairs of turns"));
  const std::string ratio = format_ratio(standing.ratio), low = format_ratio(standing.interval->low),
                    high = format_ratio(standing.interval->high);
  if (standing.difference == Difference::same)
    return fmt::format("the same as that of {} within {:g} % (ratio {}, {} to {})", first, margin * 100, ratio, low, high);
  if (standing.difference != Difference::unknown) return fmt::format("{} times ({} to {}) that of {}", ratio, low, high, first);
  if (standing.shape != SeriesShape::steady)
    return fmt::format("{} times that of {} on average ({} to {}), but the ratio {}", ratio, first, low, high, shape_words(standing.shape));
  return fmt::format("not told apart from that of {} (ratio {}, {} to {})", first, ratio, low, high);
}

std::string needed_words(double seconds) {
  if (seconds < 100) return fmt::format("about {:.0f} s", std::max(1.0, std::ceil(seconds)));
  if (seconds < 100 * 60) return fmt::format("about {:.0f} minutes", std::ceil(seconds / 60));
  return fmt::format("about {:.0f} hours", std::ceil(seconds / 3600));
}

}  // namespace deepgap
