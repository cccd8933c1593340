// metadata_props of an ONNX file: what its maker says of it. No part of the Graph, since it says nothing about what is computed.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace deepgap {

// Of well-formed bytes (what read_onnx takes). Throws Error{input} for what is no message; keys with control characters are left out.
std::map<std::string, std::string> onnx_metadata(std::span<const std::byte> bytes);
std::map<std::string, std::string> read_onnx_metadata(const std::string& path);

}  // namespace deepgap
