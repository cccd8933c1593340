// A GGUF file (versions 2 and 3, little endian): metadata by name, and tensors that alias the mapped file. The format is described in
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Nothing in the file is trusted.
#pragma once

#include "base/file.h"
#include "model/gguf/weight_type.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace deepgap {

using GgufValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

struct GgufTensor {
  std::vector<int64_t> shape;  // outermost dimension first: rows, columns
  uint32_t type_number = 0;    // as the file has it
  int64_t bytes = 0;           // 0 where the type is not supported
  std::shared_ptr<const std::byte> data;
};

struct GgufFile {
  std::string path;  // named in errors
  std::map<std::string, GgufValue> metadata;
  std::map<std::string, GgufTensor> tensors;

  // nullptr: the file does not have it, or has another kind of value there.
  template <typename T>
  const T* find(const std::string& key) const {
    const auto found = metadata.find(key);
    return found == metadata.end() ? nullptr : std::get_if<T>(&found->second);
  }
  // Throws Error{input} with the path and a cause, which may quote text of the file.
  [[noreturn]] void fail(const std::string& cause) const;
};

// Returns whether it begins as GGUF files do.
bool is_gguf_file(const std::string& path);

// Throws Error{input} "PATH: cause".
GgufFile read_gguf(const std::string& path);
GgufFile parse_gguf(const MappedFile& file, const std::string& path);

}  // namespace deepgap
