// Attention's products in AMX tiles: BF16 factors, sums in float32.
#pragma once

#include "engine/cpu/attention_products.h"

namespace deepgap {

// Returns nullptr if this process may not use AMX.
const AttentionProducts* amx_attention_products();

}  // namespace deepgap
