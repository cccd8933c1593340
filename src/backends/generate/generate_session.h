// Task generate: a Session that computes answers token by token (model/decoder/decoder_steps.h). A thread of its own takes queries as they
// come and steps all of them together, so that a prompt that arrives joins answers that are under way (continuous batching). An engine
// brings the steps.
#pragma once

#include "backends/generate/generation_settings.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_steps.h"

#include <deepgap/backend.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace deepgap {

// A network and an engine that computes its steps.
struct Generator {
  std::string engine;  // its name begins what is refused
  int64_t context = 0, vocabulary = 0;
  TokenizerData tokenizer;
  GenerationSettings settings;
  int streams = 1;  // queries at a time at least, however many slots were asked for
  // Called once, at load.
  std::function<std::unique_ptr<DecoderSteps>()> make_steps;
  // Returns what a thread holds while it makes or calls the steps, such as its own team of threads; empty: nothing. `serves`: it is the
  // Session's own thread, which computes the queries.
  std::function<std::shared_ptr<void>(bool serves)> thread_scope;
};

// Keeps the Generator as long as the steps. Throws what make_steps() does, and Error{refused | input | out_of_memory}.
std::unique_ptr<Session> make_generate_session(const Model& model, const LoadOptions& options, Generator generator);

}  // namespace deepgap
