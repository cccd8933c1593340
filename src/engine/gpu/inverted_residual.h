// Chains (chain.h) with a convolution of each channel by itself, as MobileNets and EfficientNets have them, as one kernel for sm_80 and
// later: kernels/inverted_residual.cuh says how. Results are those of the convolutions one by one but for the order of sums.
#pragma once

#include "engine/gpu/chain.h"

namespace deepgap::gpu {

// Returns whether this family computes the chain: [1x1 >] depthwise > 1x1 [+ residual], in 16-bit floats, of which only the last is stored.
bool is_inverted_residual(const Chain& chain);
// Returns the variants, fastest first by estimate; none if chip or shapes do not suit.
std::vector<ChainVariant> inverted_residual_variants(const Chain& chain, const Chip& chip);
ChainVariant inverted_residual_variant(const Chain& chain, const InvertedTile& tile, const Chip& chip);

}  // namespace deepgap::gpu
