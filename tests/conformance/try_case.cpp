#include "try_case.h"

#include "kept_case.h"
#include "rig.h"
#include "tolerance.h"

#include "base/file.h"
#include "model/onnx_reader.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

namespace deepgap::conformance {
namespace {

// The batch that was kept, cut into its samples: one has as many rows as the graph says where its batch is 1.
Samples samples_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (inputs.size() != graph.inputs.size())
    throw Error(ErrorKind::input, fmt::format("{} inputs, the model has {}", inputs.size(), graph.inputs.size()));
  Samples samples;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape shape = inputs[i].shape;
    const int64_t rows = graph.values[static_cast<size_t>(graph.inputs[i])].dims.value().front().size;
    const int64_t count = shape.front() / rows;
    shape.front() = rows;
    samples.resize(static_cast<size_t>(count));
    for (size_t k = 0; k < samples.size(); ++k) {
      Tensor sample = make_tensor(inputs[i].type, shape);
      std::memcpy(writable<std::byte>(sample).data(), inputs[i].data.get() + k * sample.bytes(), sample.bytes());
      samples[k].push_back(sample);
    }
  }
  return samples;
}

}  // namespace

int try_case(const std::string& folder, const std::string& asked) {
  const KeptCase kept = read_kept_case(folder);
  const std::string precision = asked.empty() ? kept.precision : asked;
  const GraphModel model(read_onnx(kept.model()), read_text(kept.model()));
  const Samples samples = samples_of(model.graph(), kept.read_inputs());
  std::vector<uint32_t> all(samples.size());
  std::iota(all.begin(), all.end(), 0);
  Rig rig(model, {static_cast<int64_t>(all.size())}, 1, kept.threads, precision);
  rig.stage(samples);
  if (rig.run(0, all) != Status::ok) {
    fmt::print("failed: {}\n", rig.last_error());
    return 1;
  }
  const std::string wrong = difference(reference(model.graph(), samples, all), rig.session->outputs(0), precision);
  fmt::print("{} {} in {}: {}\n", backend().name(), backend().version(), precision, wrong.empty() ? "right" : wrong);
  return wrong.empty() ? 0 : 1;
}

}  // namespace deepgap::conformance
