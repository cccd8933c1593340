// Tests use this to look at how an action fails.
#pragma once

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <concepts>
#include <string>

namespace deepgap {

// Returns its one line; the test fails if the Error has another kind or is longer. "no error" when nothing is thrown.
template <std::invocable Action>
std::string error_of(const Action& action, ErrorKind kind = ErrorKind::usage) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    const std::string line = error.what();
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    return line;
  }
  return "no error";
}

// Returns what it throws, to be looked at; {internal, "nothing was thrown"} when nothing is.
template <std::invocable Action>
Error failure_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::internal, "nothing was thrown"};
}

}  // namespace deepgap
