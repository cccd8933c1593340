#include "backends/null/null_backend.h"

#include "backends/null/null_session.h"
#include "backends/null/script.h"

#include <deepgap/own_options.h>

namespace deepgap {

std::vector<DeviceInfo> NullBackend::devices() const { return {{DeviceId{}, "scripted, computes nothing", -1, {}}}; }

std::vector<OptionInfo> NullBackend::options() const { return null_script_options(); }

Support NullBackend::supports(const Point& point, const GraphSummary& /*graph*/) const {
  const auto own = own_options(point, name());
  // Time that others share cannot jump.
  const bool shared = own.contains("tenants") || own.contains("end_to_end");
  if (parse_null_script(own).virtual_time && shared)
    return {false, "null: clock=virtual is for one process and one thread: leave out tenants and end_to_end"};
  return {};
}

std::unique_ptr<Session> NullBackend::load(const Model& model, const LoadOptions& options) {
  if (options.clock == nullptr || !options.completion || options.slots < 1 || options.batch_sizes.empty()) {
    throw Error(ErrorKind::internal, "null backend: load needs a clock, a completion, a slot and a batch size");
  }
  return make_null_session(parse_null_script(options.options), model, options);
}

}  // namespace deepgap
