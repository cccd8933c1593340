// Chunk: one event of a stream of completions, read. Pure functions.
#pragma once

#include <deepgap/generate.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace deepgap {

struct Chunk {
  std::string text;       // text of the answer, calls of tools included
  std::string reasoning;  // what the model thinks before it answers
  std::optional<StopReason> stop;
  // Counted by the server so far: in the last chunk, or in each.
  std::optional<int64_t> input, output, cached;
  std::map<std::string, double> timings;  // llama.cpp's own: prompt_ms, predicted_ms, ...
  std::string request_error;              // why it is not a chunk; empty: it is one
};

// Reads the JSON of an event, or of an answer that is not a stream.
Chunk read_chunk(std::string_view json);

}  // namespace deepgap
