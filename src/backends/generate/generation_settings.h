// The options of task generate that every engine in this process has: how tokens are chosen and where answers end.
#pragma once

#include "backends/generate/sampler.h"
#include "base/option_table.h"

#include <string>

namespace deepgap {

struct GenerationSettings {
  SamplingSettings sampling;
  bool sampling_seed_given = false;
  bool made_up_tokens = false;  // tokens are words, instead of the file's tokenizer
  bool ignore_end = true;       // answers are as long as asked for
  std::string answers;          // file that they are written to; empty: none
};

// Rows for an engine's own table.
const OptionTable<GenerationSettings>& generation_options();
// Throws Error{usage}, beginning with the engine's name, for settings of drawing where nothing is drawn, and for a file of answers in
// another task.
void require_generation(const std::string& engine, const GenerationSettings& settings, Task task);

}  // namespace deepgap
