#include "backends/libtorch/torch_failure.h"

#include "base/text.h"
#include "base/words.h"

#include <c10/util/Exception.h>

#include <array>
#include <new>
#include <string_view>

namespace deepgap {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// After these the context, and with it the process, is of no use any more. Source: the CUDA runtime's descriptions of "sticky" errors.
constexpr std::array<std::string_view, 8> lost{"illegal memory access", "unspecified launch failure",  "device-side assert",
                                               "misaligned address",    "illegal instruction",         "uncorrectable ECC",
                                               "hardware stack error",  "the launch timed out and was"};

// The first sentences; what follows is advice for programmers and a backtrace.
std::string words_of(const std::exception& failure) {
  const auto* error = dynamic_cast<const c10::Error*>(&failure);
  std::string text = error != nullptr ? error->what_without_backtrace() : failure.what();
  for (const char* advice : {"\nException raised from", "\nSearch for `", "\nCUDA kernel errors might", "\nFor debugging consider"}) {
    text = text.substr(0, text.find(advice));
  }
  return one_line(trim(text));
}

}  // namespace

Error torch_error(const std::exception& failure, const std::string& doing) {
  if (const auto* own = dynamic_cast<const Error*>(&failure)) return *own;
  const std::string words = words_of(failure);
  const bool memory = dynamic_cast<const std::bad_alloc*>(&failure) != nullptr ||
                      dynamic_cast<const c10::OutOfMemoryError*>(&failure) != nullptr || contains(words, "out of memory") ||
                      contains(words, "can't allocate memory");
  if (memory) return {ErrorKind::out_of_memory, "out of memory: libtorch " + doing + ": " + words};
  for (const std::string_view sign : lost) {
    if (contains(words, sign)) return {ErrorKind::device_lost, "device lost: libtorch " + doing + ": " + words};
  }
  return {ErrorKind::refused, "libtorch " + doing + ": " + words};
}

}  // namespace deepgap
