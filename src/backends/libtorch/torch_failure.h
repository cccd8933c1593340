// LibTorch's failures in our words: one line, and the kind of Error they are.
#pragma once

#include <deepgap/error.h>

#include <exception>
#include <string>

namespace deepgap {

// Converts an exception that a call of LibTorch threw; an Error stays itself. `doing` says what was tried ("loading the model").
Error torch_error(const std::exception& failure, const std::string& doing);

// Does `work`, and throws its exceptions as such Errors.
template <typename Work>
auto with_torch_errors(const std::string& doing, Work work) {
  try {
    return work();
  } catch (const std::exception& failure) {
    throw torch_error(failure, doing);
  }
}

}  // namespace deepgap
