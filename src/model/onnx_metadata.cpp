#include "model/onnx_metadata.h"

#include "base/file.h"
#include "model/wire.h"

namespace deepgap {
namespace {

constexpr uint32_t metadata_props = 14;
constexpr size_t most_entries = 10'000;

std::string as_string(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

std::map<std::string, std::string> onnx_metadata(std::span<const std::byte> bytes) {
  std::map<std::string, std::string> metadata;
  WireReader model(bytes, bytes.data());
  while (model.next() && metadata.size() < most_entries) {
    if (model.field() != metadata_props) continue;
    std::string key, value;
    WireReader entry = model.message();
    while (entry.next()) {
      if (entry.field() == 1) key = as_string(entry.bytes());
      if (entry.field() == 2) value = as_string(entry.bytes());
    }
    if (is_printable_utf8(key)) metadata.insert_or_assign(key, value);
  }
  return metadata;
}

std::map<std::string, std::string> read_onnx_metadata(const std::string& path) { return onnx_metadata(map_file(path).bytes()); }

}  // namespace deepgap
