#include "worker/load_session.h"

#include "base/words.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <new>

namespace deepgap {

std::unique_ptr<Session> load_session(Backend& backend, const Model& model, const LoadOptions& options) {
  try {
    return backend.load(model, options);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& failure) {
    throw Error(ErrorKind::refused, fmt::format("{} does not load the model: {}", backend.name(), one_line(failure.what())));
  }
}

}  // namespace deepgap
