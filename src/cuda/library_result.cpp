#include "cuda/library_result.h"

#include "cuda/driver.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap::cuda {
namespace {

// CUDA_ERROR_STREAM_CAPTURE_*: the stream is being recorded; the error says nothing about the device.
bool is_of_recording(Result result) { return result >= 900 && result <= 907; }

}  // namespace

void throw_library_error(const std::string& library, const std::string& name, const std::string& doing, bool is_memory) {
  const std::string message = fmt::format("{} says {} while {}", library, name, doing);
  if (is_memory) throw Error(ErrorKind::out_of_memory, "out of memory: " + message);
  const Result state = driver().cuCtxSynchronize();
  if (!is_of_recording(state)) check(state, doing);
  throw Error(ErrorKind::internal, message);
}

}  // namespace deepgap::cuda
