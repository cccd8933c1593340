// Graph to ONNX, as other engines read it.
#pragma once

#include "model/onnx_metadata.h"

#include <deepgap/graph.h>

#include <map>
#include <string>

namespace deepgap {

// IR version 8 (opset <= 18) or later as the opset asks. Throws Error{internal} past protobuf's 2 GiB.
// `metadata` becomes the file's metadata_props (onnx_metadata.h reads them). Operators of another domain mean what its version in `domains`
// says; one that is not there is of version 1.
std::string write_onnx(const Graph& graph, const std::map<std::string, std::string>& metadata = {}, const DomainVersions& domains = {});
void write_tensor_proto(const std::string& path, const Tensor& tensor, const std::string& name);

}  // namespace deepgap
