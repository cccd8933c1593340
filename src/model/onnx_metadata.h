// Reads what an ONNX file holds beside its Graph: metadata_props, which its maker wrote, and the versions of domains other than ONNX's own,
// whose operators are engines' own matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// Reads the metadata of well-formed bytes, as read_onnx takes them. Throws Error{input} for others; omits keys with control characters.
std::map<std::string, std::string> onnx_metadata(std::span<const std::byte> bytes);
std::map<std::string, std::string> read_onnx_metadata(const std::string& path);

using DomainVersions = std::map<std::string, int64_t>;  // {"ai.onnx.ml", 3}
DomainVersions onnx_domains(std::span<const std::byte> bytes);
DomainVersions read_onnx_domains(const std::string& path);

// Sizes of 0 that the file gives its inputs, which the reader takes for open ones: "input 'x', dimension 0". Likewise.
std::vector<std::string> onnx_zero_sizes(std::span<const std::byte> bytes);
std::vector<std::string> read_onnx_zero_sizes(const std::string& path);

}  // namespace deepgap
