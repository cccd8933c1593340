// What an ONNX file says beside its Graph: metadata_props, which its maker says of it, and the versions of domains other than ONNX's own,
// whose operators are engines' own matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// Of well-formed bytes (what read_onnx takes). Throws Error{input} for what is no message; keys with control characters are left out.
std::map<std::string, std::string> onnx_metadata(std::span<const std::byte> bytes);
std::map<std::string, std::string> read_onnx_metadata(const std::string& path);

using DomainVersions = std::map<std::string, int64_t>;  // {"ai.onnx.ml", 3}
DomainVersions onnx_domains(std::span<const std::byte> bytes);
DomainVersions read_onnx_domains(const std::string& path);

// Sizes of 0 that the file gives its inputs, which the reader takes for open ones: "input 'x', dimension 0". Likewise.
std::vector<std::string> onnx_zero_sizes(std::span<const std::byte> bytes);
std::vector<std::string> read_onnx_zero_sizes(const std::string& path);

}  // namespace deepgap
