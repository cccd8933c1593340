// The elements that Pad repeats around an axis; shared by the evaluator and by engines that lack a mode.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace deepgap {

// For each element of the padded axis the element of the axis (of `size`) that it shows: "edge" repeats the ends, "reflect" goes back
// and forth without repeating them, "wrap" begins again. Negative pads cut off. nullopt for another mode, or where nothing can be shown:
// an axis of size 0.
std::optional<std::vector<int64_t>> padded_positions(std::string_view mode, int64_t size, int64_t before, int64_t after);

}  // namespace deepgap
