#include "backends/onnxruntime/ort_network.h"

#include "backends/onnxruntime/ort_failure.h"

#include <algorithm>
#include <optional>
#include <span>

namespace deepgap {
namespace {

OrtSessionHandle open_session(const Model& model, const OrtSessionOptions* options) {
  // Protobuf cannot hold more in one message; a file may keep its weights beside it.
  constexpr int64_t protobuf_limit = (int64_t{1} << 31) - (int64_t{16} << 20);
  OrtSession* session = nullptr;
  if (model.summary().weight_bytes > protobuf_limit && !model.file().empty()) {
    ort().call(ort_create_session, ort().env(), model.file().c_str(), options, &session);
  } else {
    const std::span<const std::byte> bytes = model.onnx();
    ort().call(ort_create_session_from_array, ort().env(), bytes.data(), bytes.size(), options, &session);
  }
  return OrtSessionHandle(session);
}

// Sizes that the library expects of an output; negative where it leaves them open.
Shape expected_shape(const OrtSession* session, size_t output) {
  OrtTypeInfo* made = nullptr;
  ort().call(ort_get_output_type_info, session, output, &made);
  const OrtTypeInfoHandle info(made);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  ort().call(ort_tensor_of_type_info, made, &tensor);
  size_t rank = 0;
  if (tensor != nullptr) ort().call(ort_get_rank, tensor, &rank);
  Shape sizes(rank);
  if (rank > 0) ort().call(ort_get_dimensions, tensor, sizes.data(), rank);
  return sizes;
}

bool contradicts(const Shape& expected, const Dims& dims) {
  if (expected.size() != dims.size()) return !expected.empty();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (expected[i] >= 0 && !(dims[i].known() && dims[i].size == expected[i])) return true;
  }
  return false;
}

// The library takes no buffer of a size that it does not expect, though its own kernels may make one: 6 resized by the float nearest to 7/6
// has a width of 7, and of 6 to its shape inference, which computes in double. It leaves the buffer of an output that is an input
// unwritten, and without binding it makes all outputs, as it does for a caller who names no buffers. Outputs without dims are its to make.
void leave_to_library(OrtNetwork& network, const Graph& graph) {
  for (size_t i = 0; i < network.outputs.size(); ++i) {
    std::optional<Dims>& dims = network.outputs[i].dims;
    const bool is_input = std::find(graph.inputs.begin(), graph.inputs.end(), graph.outputs[i]) != graph.inputs.end();
    if (!network.io_binding || is_input || (dims && contradicts(expected_shape(network.session.get(), i), *dims))) dims.reset();
  }
}

// Providers write to the environment's log when they are added: it is made first.
OrtSessionOptionsHandle options_of(const LoadOptions& options, const OrtSettings& settings) {
  const DeviceId& device = options.placement.devices.front();
  ort().env();
  OrtSessionOptionsHandle made = make_session_options(settings, options.precision);
  append_ort_provider(made.get(), ort_provider(settings, device), device, options.precision, settings.threads);
  return made;
}

}  // namespace

OrtSessionHandle open_ort_file(const std::string& path, const LoadOptions& options, const OrtSettings& settings) {
  OrtSession* session = nullptr;
  ort().call(ort_create_session, ort().env(), path.c_str(), options_of(options, settings).get(), &session);
  return OrtSessionHandle(session);
}

OrtNetwork open_ort_network(const Model& model, const LoadOptions& options, const OrtSettings& settings,
                            const std::string& profile_prefix) {
  const Graph& graph = model.graph();
  const DeviceId& device = options.placement.devices.front();
  OrtNetwork network{ports(graph, graph.inputs), ports(graph, graph.outputs), 1, settings.io_binding, device.kind != "cpu", {}, {}};
  for (const int64_t batch : options.batch_sizes) {
    input_shapes("onnxruntime", model.name(), network.inputs, batch);
    network.max_batch = std::max(network.max_batch, batch);
  }
  try {
    const OrtSessionOptionsHandle made = options_of(options, settings);
    if (!profile_prefix.empty()) ort().call(ort_enable_profiling, made.get(), profile_prefix.c_str());
    network.session = open_session(model, made.get());
    leave_to_library(network, graph);
    OrtMemoryInfo* info = nullptr;
    ort().call(ort_create_cpu_memory_info, ort_arena_allocator, ort_memory_default, &info);
    network.host_memory.reset(info);
  } catch (const OrtFailure& failure) {
    throw load_error(failure, graph);
  }
  return network;
}

}  // namespace deepgap
