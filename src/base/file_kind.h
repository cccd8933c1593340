// Recognises, by its first bytes, a file that people give instead of an ONNX file. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace deepgap {

// A sentence without a subject that names the kind of file and what to do, such as "is a Git LFS pointer instead of the file: run 'git lfs
// pull' in its repository". "" where the bytes are none of the kinds known here.
std::string other_file_kind(std::span<const std::byte> bytes);

// The same of bytes that should be a binary ONNX file: any text and protobufs of another kind are none either.
std::string not_onnx_kind(std::span<const std::byte> bytes);

// The same of bytes that should be a GGUF file; "" only where they begin as one.
std::string not_gguf_kind(std::span<const std::byte> bytes);

// Returns whether it begins as safetensors files do, which are one of the kinds above.
bool is_safetensors_file(std::span<const std::byte> bytes);

// Returns advice for a network of another framework, by the ending of its name; "" if the ending is not known.
std::string other_framework(const std::string& path);

}  // namespace deepgap
