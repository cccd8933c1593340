// ONNX files, opsets 6 to 28, to Graph. The file may be hostile: limits are checked before memory is taken, and the caller runs in a
// resource-limited child besides.
#pragma once

#include <deepgap/error.h>
#include <deepgap/graph.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace deepgap {

struct OnnxLimits {
  int64_t max_nodes = 200'000;
  int64_t max_values = 1'000'000;
  int max_depth = 16;                       // levels of nested subgraphs and messages
  int64_t max_elements = int64_t{1} << 40;  // product of the sizes of any tensor's shape
};

// A file of another kind, which the message names: "PATH: it is a Git LFS pointer instead of the file: run ...".
class OtherFileKind : public Error {
 public:
  explicit OtherFileKind(const std::string& message) : Error(ErrorKind::input, message) {}
};

// Throws Error{input}: "PATH: cause (node, tensor or offset)". External data must lie inside the model's folder, links resolved.
// The result is valid (graph.h), and each node of ONNX's own operators has the inputs and outputs of its definition (operator_arity.h),
// with a value made up for a node's first output and others that are always made where the file leaves them out; shapes inferred with the
// first dimension of inputs as batch_symbol where the file leaves it open.
Graph read_onnx(const std::string& path, const OnnxLimits& limits = {});
Graph parse_onnx(std::span<const std::byte> bytes, const std::string& name, const std::string& folder, const OnnxLimits& limits = {});
// One TensorProto (a .pb of the ONNX test layout).
Tensor read_tensor_proto(const std::string& path);
// Reads the same with its name, which may be empty.
std::pair<std::string, Tensor> read_named_tensor_proto(const std::string& path);

}  // namespace deepgap
