// What a file is that people give in place of an ONNX file, by its first bytes. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace deepgap {

// A sentence without a subject that names the kind of file and what to do, such as "is a Git LFS pointer in place of the file: run 'git lfs
// pull' in its repository". "" where the bytes are none of the kinds known here.
std::string other_file_kind(std::span<const std::byte> bytes);

// Whether it begins as safetensors files do, which are one of the kinds above.
bool is_safetensors_file(std::span<const std::byte> bytes);

// What to do with a network of another framework, by the ending of its name: "" where the ending is not known.
std::string other_framework(const std::string& path);

}  // namespace deepgap
