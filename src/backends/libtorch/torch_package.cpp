#include "backends/libtorch/torch_package.h"

#include "backends/common/port.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_target.h"
#include "backends/libtorch/torch_types.h"

#include <deepgap/error.h>

#include <ATen/Context.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace deepgap {
namespace {

using Tensors = std::vector<at::Tensor>;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::refused, fmt::format("libtorch: package '{}' {}", path, what));
}

// The common part of both kinds: to be the Graph's network.
class Package : public TorchNetwork {
 public:
  Package(std::string path, const Graph& graph, const TorchTarget& target)
      : path_(std::move(path)), inputs_(ports(graph, graph.inputs)), outputs_(ports(graph, graph.outputs)), target_(target) {}

  // Runs once on zeros.
  void prepare(int64_t batch) override {
    if (!prepared_.insert(batch).second) return;
    Tensors inputs;
    for (const Port& input : inputs_)
      inputs.push_back(at::zeros(*input.shape(batch), at::TensorOptions(torch_type(input.type)).device(target_.device)));
    Tensors results;
    try {
      results = run(batch, inputs, nullptr);
    } catch (const std::exception& failure) {
      const Error error = torch_error(failure, "running it");
      if (error.kind() != ErrorKind::refused) throw error;
      refuse(path_, fmt::format("does not take the model's inputs: {}", error.what()));
    }
    require_outputs(results, batch);
  }

  Tensors run(int64_t /*batch*/, std::span<const at::Tensor> given, const Around* /*around*/) override {
    const c10::InferenceMode inference;
    const TorchAutocast autocast(target_);
    Tensors inputs;
    for (const at::Tensor& input : given) inputs.push_back(torch_input(input, target_));
    return forward(std::move(inputs));
  }

 protected:
  virtual Tensors forward(Tensors inputs) = 0;
  const std::string& path() const { return path_; }

 private:
  void require_outputs(const Tensors& results, int64_t batch) const {
    if (results.size() != outputs_.size()) refuse(path_, fmt::format("gives {} outputs, the model {}", results.size(), outputs_.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      const auto shape = outputs_[i].shape(batch);
      if (shape && results[i].sizes() != at::IntArrayRef(*shape))
        refuse(path_, fmt::format("gives output {} as [{}], the model's '{}' is [{}]", i, fmt::join(results[i].sizes(), ", "),
                                  outputs_[i].name, fmt::join(*shape, ", ")));
      const at::ScalarType wanted = outputs_[i].type == DataType::f32 ? target_.floats : torch_type(outputs_[i].type);
      if (target_.autocast == at::kFloat && results[i].scalar_type() != wanted)
        refuse(path_, fmt::format("gives output {} as {}, expected {}: it was made for another precision", i,
                                  c10::toString(results[i].scalar_type()), c10::toString(wanted)));
    }
  }

  std::string path_;
  std::vector<Port> inputs_, outputs_;
  TorchTarget target_;
  std::set<int64_t> prepared_;
};

// A tensor, or a tuple or list of them.
void flatten(const c10::IValue& value, const std::string& path, Tensors& tensors) {
  if (value.isTensor()) {
    tensors.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) flatten(element, path, tensors);
  } else {
    refuse(path, "gives something else than tensors");
  }
}

class ScriptPackage final : public Package {
 public:
  ScriptPackage(const std::string& path, const Graph& graph, const TorchTarget& target) : Package(path, graph, target) {
    module_ = torch::jit::load(path, target.device);
    module_.eval();
    if (target.floats != at::kFloat) module_.to(target.floats);
    const auto method = module_.find_method("forward");
    if (!method) refuse(path, "has no forward()");
    const auto& arguments = method->function().getSchema().arguments();
    size_t needed = 0;
    for (const c10::Argument& argument : arguments) needed += argument.default_value() ? 0 : 1;
    if (graph.inputs.size() + 1 < needed || graph.inputs.size() + 1 > arguments.size())
      refuse(path, fmt::format("takes {} inputs, the model has {}", arguments.size() - 1, graph.inputs.size()));
  }

 private:
  Tensors forward(Tensors inputs) override {
    Tensors results;
    flatten(module_.forward({inputs.begin(), inputs.end()}), path(), results);
    return results;
  }

  torch::jit::Module module_;
};

// The code in a package asks for libtorch.so by its name, and that for the CUDA libraries. With a GPU it is torch's own; for a CPU an empty
// library of the name stands beside the engine. Loaded before the package, it is found.
void load_libtorch(const at::Device& device) {
  const void* beside = device.is_cpu() ? reinterpret_cast<const void*>(&load_libtorch) : reinterpret_cast<const void*>(&at::globalContext);
  Dl_info info{};
  if (::dladdr(beside, &info) == 0 || info.dli_fname == nullptr) return;
  const auto path = std::filesystem::path(info.dli_fname).parent_path() / "libtorch.so";
  ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

class CompiledPackage final : public Package {
 public:
  CompiledPackage(const std::string& path, const Graph& graph, const TorchTarget& target) : Package(path, graph, target) {
    if (target.autocast != at::kFloat) refuse(path, "is compiled: precision mixed cannot be asked of it");
    load_libtorch(target.device);
    loader_ = std::make_unique<torch::inductor::AOTIModelPackageLoader>(path, "model", false, 1, target.device.index());
  }

 private:
  Tensors forward(Tensors inputs) override { return loader_->boxed_run(std::move(inputs)); }

  std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;
};

bool is_zip(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(4, '\0');
  return file.read(start.data(), 4) && start == "PK\x03\x04";
}

}  // namespace

std::unique_ptr<TorchNetwork> open_torch_package(const std::string& path, const Graph& graph, const TorchTarget& target) {
  if (!is_zip(path)) refuse(path, "is neither TorchScript (torch.jit.save) nor an AOTInductor package");
  try {
    if (path.ends_with(".pt2")) return std::make_unique<CompiledPackage>(path, graph, target);
    return std::make_unique<ScriptPackage>(path, graph, target);
  } catch (const std::exception& failure) {
    const Error error = torch_error(failure, "opening it");
    if (error.kind() != ErrorKind::refused || dynamic_cast<const Error*>(&failure) != nullptr) throw error;
    refuse(path, fmt::format("cannot be used: {}", error.what()));
  }
}

}  // namespace deepgap
