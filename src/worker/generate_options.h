// The options of a Point of task generate: its prompts and how long answers may be.
#pragma once

#include "base/option_table.h"
#include "generate/prompts.h"

#include <deepgap/backend.h>

#include <cstdint>
#include <optional>

namespace deepgap {

struct GenerateOptions {
  Lengths prompt_tokens{512};
  std::optional<Lengths> output_tokens;  // nullopt: as a file of prompts says, else usual_output_tokens
  int64_t shared_prefix = 0;
  bool reuse = false;        // prompts are sent again as they are
  uint64_t unique_seed = 1;  // seed of the texts that make them unique: the worker draws one for each order
};

inline constexpr int64_t usual_prompts = 512;  // different ones that queries cycle through

const OptionTable<GenerateOptions>& generate_options();

}  // namespace deepgap
