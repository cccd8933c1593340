// The colours of Lines: at most eight, which people with any of the three colour-vision deficiencies can distinguish, and 3:1 against the
// page (palette_test.cpp computes both). A marker of its own goes with each, so that no meaning hangs on colour alone.
#pragma once

#include <array>
#include <string_view>

namespace deepgap {

inline constexpr size_t palette_size = 8;

struct Palette {
  std::string_view page;
  std::array<std::string_view, palette_size> lines;
};

inline constexpr Palette light_palette{"#ffffff", {"#0068b5", "#d1600a", "#16a37b", "#7a1f4f", "#a480ea", "#102698", "#aa1107", "#8e506f"}};
inline constexpr Palette dark_palette{"#15181d", {"#5aaef0", "#f5954a", "#2ee0b0", "#dd3a78", "#686be1", "#d0f93e", "#bb7b0c", "#97feeb"}};

}  // namespace deepgap
