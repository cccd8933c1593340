// What the repeats' values of a metric make together, where that is not their mean: of counts the sum, of extremes the extreme of all.
// A family in metrics/ says so of its own:
//     const bool combined = combine_over_repeats({{"timings", OverRepeats::sum}});
#pragma once

#include <map>
#include <string>

namespace deepgap {

enum class OverRepeats { sum, least, most };

bool combine_over_repeats(const std::map<std::string, OverRepeats>& metrics);
// By metric id; whoever is not in it is averaged. Complete once the program has started.
const std::map<std::string, OverRepeats>& combined_over_repeats();

}  // namespace deepgap
