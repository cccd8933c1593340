// A network of two products whose training is counted by hand in tests.
#pragma once

#include "model/onnx_test_files.h"

namespace deepgap {

// x [N,4] -> product 4x3 -> Relu -> product 3x2
inline Graph two_layers() {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 4});
  describe_value(graph->add_output(), "y", {});
  add_floats(graph, "a", {4, 3});
  add_floats(graph, "b", {3, 2});
  add_node(graph, "MatMul", {"x", "a"}, {"h"}, "first");
  add_node(graph, "Relu", {"h"}, {"r"}, "relu");
  add_node(graph, "MatMul", {"r", "b"}, {"y"}, "second");
  return read_model(model);
}

}  // namespace deepgap
