// What a failed query's Done tells.
#pragma once

#include <deepgap/error.h>

#include <exception>

namespace deepgap {

// The Error itself, or one of kind internal with the same words.
inline Error error_from(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  return error != nullptr ? *error : Error(ErrorKind::internal, failure.what());
}

}  // namespace deepgap
