// The end of a loop when the Target fails a query.
#pragma once

#include <deepgap/error.h>
#include <deepgap/target.h>

#include <fmt/format.h>

namespace deepgap {

// Gives up what is in the Target and throws the engine's reason where the Target knows it, else Error{internal} naming `query`.
[[noreturn]] inline void end_on_failure(Target& target, uint64_t query) {
  target.cancel();
  target.flush();
  throw Error(ErrorKind::internal, fmt::format("the engine failed on query {} and gave no reason", query));
}

}  // namespace deepgap
