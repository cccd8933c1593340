#include "backends/tensorflow/tf_backend.h"

#include "backends/common/hidden_amx.h"
#include "backends/common/host.h"
#include "backends/tensorflow/tf_library.h"
#include "backends/tensorflow/tf_session.h"
#include "backends/tensorflow/tf_settings.h"

namespace deepgap {

TfBackend::TfBackend() {
  keep_off_hidden_amx();
  TfLibrary::instance();
}

std::string TfBackend::version() const { return tf().version(); }

std::vector<DeviceInfo> TfBackend::devices() const { return {{DeviceId{}, cpu_name(), host_memory_bytes(), {}}}; }

std::vector<OptionInfo> TfBackend::options() const { return tf_options().infos(); }

Support TfBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  const std::string refusal = tf_refusal(request, graph);
  return refusal.empty() ? Support{} : Support{false, "tensorflow: " + refusal};
}

std::unique_ptr<Session> TfBackend::load(const Model& model, const LoadOptions& options) {
  require(supports(options, GraphSummary{}));
  return make_tf_session(model, options, tf_settings(options));
}

}  // namespace deepgap
