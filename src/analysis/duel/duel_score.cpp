#include "analysis/duel/duel_score.h"
#include "base/quantity.h"

#include "analysis/ratio_text.h"
#include "analysis/words.h"

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
      return "alternated between two values";
    case SeriesShape::warming:
      return "was different at the beginning";
    case SeriesShape::steady:
      break;
  }
  return "was steady";
}

// Words for a standing without a stated interval.
std::string unresolved_words(const DuelStanding& standing, const std::string& first) {
  const std::string ratio = format_ratio(standing.ratio);
  if (standing.resolution == Resolution::too_short) {
    const std::string after = count_of(standing.pairs, "pair of time slices", "pairs of time slices");
    const std::string so_far = standing.pairs > 0 ? fmt::format(" ({}x so far)", ratio) : "";
    return fmt::format("no significant difference in throughput from {} after {}{}", first, after, so_far);
  }
  if (standing.shape != SeriesShape::steady)
    return fmt::format("throughput {}x that of {} on average, but the ratio {}", ratio, first, shape_words(standing.shape));
  return fmt::format(
      "no significant difference in throughput from {} ({}x so far): the machine changes too slowly for such a comparison to average it "
      "out",
      first, ratio);
}

}  // namespace

Difference difference_of(const Interval& ratio, double margin) {
  if (ratio.low > 1 / (1 + margin) && ratio.high < 1 + margin) return Difference::same;
  return ratio.low > 1 ? Difference::more : ratio.high < 1 ? Difference::less : Difference::unknown;
}

DuelScore::DuelScore(size_t contenders, double margin) {
  const double alpha = (1 - default_confidence) / static_cast<double>(contenders - 1);
  against_first_.assign(contenders - 1, PairedSequence(margin, 1 - alpha));
}

void DuelScore::add_round(std::span<const double> items_per_s, double seconds) {
  ++rounds_;
  for (size_t i = 1; i < items_per_s.size(); ++i) against_first_.at(i - 1).add(items_per_s[i], items_per_s[0], seconds);
}

DuelStanding DuelScore::standing(size_t contender) const {
  const PairedSequence& sequence = against_first_.at(contender - 1);
  DuelStanding standing;
  standing.pairs = sequence.pairs();
  standing.seconds = sequence.seconds();
  standing.ratio = sequence.ratio();
  standing.difference = sequence.decision();
  standing.pairs_needed = sequence.pairs_needed();
  if (const auto& look = sequence.last_look()) {
    standing.pairs = look->pairs;
    standing.ratio = look->ratio;
    standing.shape = look->shape;
    standing.resolution = look->resolution;
    if (look->is_stated()) standing.interval = look->interval;
  } else {
    standing.resolution = Resolution::too_short;
    const double of_time = standing.seconds > 0 ? PairedSequence::shortest_s / standing.seconds * static_cast<double>(standing.pairs) : 0;
    standing.pairs_needed = std::max(PairedSequence::first_look, static_cast<int64_t>(std::ceil(of_time))) - standing.pairs;
  }
  return standing;
}

std::string duel_words(const DuelStanding& standing, const std::string& first, double margin) {
  if (!standing.interval) return unresolved_words(standing, first);
  const auto [ratio, range] = ratio_text(standing.ratio, *standing.interval, {margin});
  if (standing.difference == Difference::same)
    return fmt::format("the same throughput as {} within {}, {}x ({})", first, chosen_percent_text(margin), ratio, range);
  if (standing.difference != Difference::unknown) return fmt::format("throughput {}x ({}) that of {}", ratio, range, first);
  return fmt::format("no significant difference in throughput from {}, {}x ({})", first, ratio, range);
}

std::string needed_words(double seconds) {
  if (seconds < 100) return fmt::format("about {:.0f} s", std::max(1.0, std::ceil(seconds)));
  if (seconds < 100 * 60) return fmt::format("about {:.0f} minutes", std::ceil(seconds / 60));
  return fmt::format("about {:.0f} hours", std::ceil(seconds / 3600));
}

}  // namespace deepgap
