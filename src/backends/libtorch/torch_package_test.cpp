// TorchScript files, made here by the library's own compiler. AOTInductor packages need the Python package:
// tests/interop/aotinductor_test.py.
#include "backends/libtorch/torch_package.h"

#include <deepgap/error.h>

#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

class TorchPackage : public testing::Test {
 protected:
  ~TorchPackage() override { std::filesystem::remove(path_); }

  // y [N, 2] of x [N, 3].
  static Graph graph() {
    Graph graph;
    graph.values = {{"x", DataType::f32, Dims{{1, batch_symbol}, {3, ""}}}, {"y", DataType::f32, Dims{{1, batch_symbol}, {2, ""}}}};
    graph.inputs = {0};
    graph.outputs = {1};
    return graph;
  }

  // A module with a weight of ones, [2, 3].
  void script(const std::string& code) const {
    torch::jit::Module module("m");
    module.register_parameter("weight", at::ones({2, 3}), false);
    module.define(code);
    module.save(path_);
  }
  std::string refusal(const TorchTarget& target = {}) const {
    const Graph made = graph();
    try {
      open_torch_package(path_, made, target)->prepare(2);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    return "accepted";
  }
  void expect_refusal(const std::string& words) const {
    const std::string said = refusal();
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_NE(said.find(path_), std::string::npos) << said;
  }

  std::string path_ = testing::TempDir() + "torch_package_" + std::to_string(::getpid()) + ".pt";
};

TEST_F(TorchPackage, ScriptRunsInEveryPrecision) {
  script("def forward(self, x):\n  return torch.linear(x, self.weight)\n");
  const Graph made = graph();
  const at::Tensor x = at::full({2, 3}, 2, at::kFloat);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const auto network = open_torch_package(path_, made, {.floats = type});
    network->prepare(2);
    const auto results = network->run(2, std::span(&x, 1), nullptr);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].scalar_type(), type);
    EXPECT_TRUE(at::allclose(results[0].to(at::kFloat), at::full({2, 2}, 6, at::kFloat)));
  }
  const auto mixed = open_torch_package(path_, made, {.autocast = at::kBFloat16});
  mixed->prepare(2);
}

TEST_F(TorchPackage, TuplesAreOutputsInOrder) {
  script("def forward(self, x):\n  return (torch.linear(x, self.weight), x)\n");
  expect_refusal("gives 2 outputs, the model 1");
}

TEST_F(TorchPackage, AnotherNetworkIsRefused) {
  script("def forward(self, x):\n  return x\n");
  expect_refusal("gives output 0 as [2, 3], the model's 'y' is [2, 2]");
  script("def forward(self, x, z):\n  return x + z\n");
  expect_refusal("takes 2 inputs, the model has 1");
  script("def forward(self, x):\n  return torch.linear(x.transpose(0, 1), self.weight)\n");
  expect_refusal("does not take the model's inputs");
}

TEST_F(TorchPackage, WhatIsNoneIsRefused) {
  std::ofstream(path_) << "not a package";
  expect_refusal("is neither TorchScript (torch.jit.save) nor an AOTInductor package");
  std::ofstream(path_) << "PK\x03\x04 and nothing behind it";
  expect_refusal("cannot be used");
}

}  // namespace
}  // namespace deepgap
