// Loads a Model into an engine. What libraries throw besides Error while they load says that they do not take the model: the process goes
// on, so it has not crashed.
#pragma once

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error as Backend::load(); of other exceptions one of kind refused with their words. std::bad_alloc passes.
std::unique_ptr<Session> load_session(Backend& backend, const Model& model, const LoadOptions& options);

}  // namespace deepgap
