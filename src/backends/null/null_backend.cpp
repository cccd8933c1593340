#include "backends/null/null_backend.h"

#include "backends/null/null_session.h"
#include "backends/null/script.h"

namespace deepgap {

std::vector<DeviceInfo> NullBackend::devices() const { return {{DeviceId{}, "scripted, computes nothing", -1, {}}}; }

std::vector<OptionInfo> NullBackend::options() const { return null_script_options(); }

Support NullBackend::supports(const EngineRequest& request, const GraphSummary& /*graph*/) const {
  parse_null_script(request.options);  // throws for values that cannot be read
  return {};
}

std::unique_ptr<Session> NullBackend::load(const Model& model, const LoadOptions& options) {
  return make_null_session(parse_null_script(options.options), model, options);
}

}  // namespace deepgap
