// The safetensors format: 8-byte header length, JSON header, tensor bytes. Reads hostile files: offsets and shapes are checked.
#pragma once

#include <deepgap/tensor.h>

#include <map>
#include <string>

namespace deepgap {

std::map<std::string, Tensor> read_safetensors(const std::string& path);  // tensors alias the mapped file
void write_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace deepgap
