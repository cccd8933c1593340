// Drives a decoder through tokens that are given, for the scores of what follows each (deepgap/token_scorer.h).
#pragma once

#include "model/decoder/decoder_steps.h"

#include <deepgap/token_scorer.h>

namespace deepgap {

// As TokenScorer::score(). Makes a cache where the present one is too short. On the thread that called enter().
void score_tokens(DecoderSteps& steps, std::span<const int64_t> tokens, size_t first, const ScoresReceiver& receive);

}  // namespace deepgap
