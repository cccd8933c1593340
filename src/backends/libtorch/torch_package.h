// A network that PyTorch itself packed: TorchScript (.pt, torch.jit.save) or an ahead-of-time compiled AOTInductor package (.pt2). It runs
// instead of the Graph, whose inputs, outputs and checks stay: the package must be the same network.
#pragma once

#include "backends/libtorch/torch_network.h"

#include <memory>
#include <string>

namespace deepgap {

// Throws Error{refused} naming the file: it is not a package, takes another number of inputs, or gives other outputs than the Graph.
// The Graph outlives the network.
std::unique_ptr<TorchNetwork> open_torch_package(const std::string& path, const Graph& graph, const TorchTarget& target);

}  // namespace deepgap
