// A Session on a server that generates: a streaming request for each query, and a connection for each slot. It has no thread: pieces of
// streams are taken by whoever waits on the Clock (Clock::attend), and each is stamped as it is read.
#pragma once

#include "backends/openai/questions.h"
#include "backends/openai/settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Sends a request of its own first, to see that the server streams. Throws Error{refused} where it does not.
std::unique_ptr<Session> make_openai_session(const ServerAddress& address, const ServedGenerator& served, const OpenaiSettings& settings,
                                             const LoadOptions& options);

}  // namespace deepgap
