// The safetensors format: 8-byte header length, JSON header, tensor bytes. Reads hostile files: offsets and shapes are checked.
#pragma once

#include "base/file.h"

#include <deepgap/tensor.h>

#include <map>
#include <string>

namespace deepgap {

// Tensors alias the mapped file where their elements are aligned there. Throws Error{input}: "PATH: cause".
std::map<std::string, Tensor> read_safetensors(const std::string& path);
std::map<std::string, Tensor> parse_safetensors(const MappedFile& file, const std::string& name);
std::string safetensors_content(const std::map<std::string, Tensor>& tensors, const std::map<std::string, std::string>& metadata = {});
void write_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace deepgap
