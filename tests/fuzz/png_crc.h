// Check sums of a PNG's chunks set right, so that damage reaches what reads behind them.
#pragma once

#include <cstdint>
#include <span>

namespace deepgap::fuzz {

void set_png_crcs(std::span<uint8_t> file);  // nothing where it is no PNG

}  // namespace deepgap::fuzz
