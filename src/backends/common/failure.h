// The Error of a query that failed: an engine that answers with an exception has not crashed.
#pragma once

#include <deepgap/error.h>

#include <exception>
#include <new>

namespace deepgap {

// Returns the Error itself; of other exceptions one of kind out_of_memory or refused with the same words.
inline Error error_from(const std::exception& failure) {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) return {ErrorKind::out_of_memory, "memory does not suffice"};
  return {ErrorKind::refused, failure.what()};
}

}  // namespace deepgap
