// The layout of the ONNX project's test data: a folder with input_0.pb, input_1.pb, ... and output_0.pb, ..., each a TensorProto; or one
// that holds such folders as test_data_set_0, test_data_set_1, ...
#pragma once

#include <deepgap/graph.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

// The folders with tensors: `folder` itself, or its test_data_set_* in the order of their numbers. Empty: it has another layout.
std::vector<std::string> onnx_test_sets(const std::string& folder);

struct TestTensor {
  std::string file, name;  // the name may be empty
  Tensor tensor;
};
// Reads the tensors of one set that belong to values of these names, in their order. Matches by the names in the files where all are given
// and known, else by the numbers of the files. Throws Error{input} naming the set or file if there are too few or too many, or one is not a
// tensor.
std::vector<TestTensor> test_inputs(const std::string& set, const std::vector<std::string>& names);
std::vector<TestTensor> test_outputs(const std::string& set, const std::vector<std::string>& names);

// Open sizes of the Graph's inputs as the set's tensors have them. The batch stays open where all tensors hold the same number of samples.
// Throws Error{input} naming the file whose tensor cannot be the input.
Graph bind_test_set(const Graph& graph, const std::string& set);

}  // namespace deepgap
