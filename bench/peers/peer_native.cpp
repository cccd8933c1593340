// A plain loop over the native engine's Network, without Session, slots or scenario.
//     PEER_PRECISION=fp32 peer_native FILE.onnx THREADS BATCH SECONDS
#include "engine/cpu/network.h"
#include "model/model_source.h"
#include "plain_loop.h"

#include <vector>

int main(int argc, char** argv) {
  using namespace deepgap;
  const auto arguments = peers::parse(argc, argv);
  const auto model = open_model({.name = arguments.file});
  NetworkOptions options;
  options.batch_sizes = {arguments.batch};
  options.threads = arguments.threads;
  const char* named = std::getenv("PEER_PRECISION");
  const std::string precision = named == nullptr ? "fp32" : named;
  if (precision == "bf16") options.compute_type = ComputeType::bf16;
  Network network(model->graph(), options, precision == "int8" ? Integers::computed_with : Integers::as_operators);
  const Network::Plan& plan = *network.plan_for(arguments.batch);
  std::vector<float> x(static_cast<size_t>(element_count(plan.inputs.at(0))), 0.5f),
      y(static_cast<size_t>(element_count(plan.outputs.at(0))));
  const auto* input = reinterpret_cast<const std::byte*>(x.data());
  auto* output = reinterpret_cast<std::byte*>(y.data());
  peers::run(arguments, [&] { network.run(plan, std::span(&input, 1), std::span(&output, 1)); });
  return 0;
}
