// A Model for tests that holds a Graph, and what the test says about it. It has no file.
#pragma once

#include <deepgap/model.h>

#include <string>
#include <utility>

namespace deepgap {

class TestModel : public Model {
 public:
  explicit TestModel(Graph graph = {}, std::string onnx = "") : graph_(std::move(graph)), onnx_(std::move(onnx)) {}
  const std::string& name() const override { return graph_.name; }
  const Graph& graph() const override { return graph_; }
  const GraphSummary& summary() const override { return summary_; }
  std::span<const std::byte> onnx() const override { return std::as_bytes(std::span(onnx_)); }
  const std::string& file() const override { return file_; }

 protected:
  Graph graph_;
  GraphSummary summary_;

 private:
  std::string onnx_, file_;
};

}  // namespace deepgap
