#include "model/onnx_metadata.h"

#include "base/file.h"
#include "model/wire.h"

namespace deepgap {
namespace {

constexpr uint32_t opset_import = 8, metadata_props = 14;
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

DomainVersions onnx_domains(std::span<const std::byte> bytes) {
  DomainVersions versions;
  WireReader model(bytes, bytes.data());
  while (model.next() && versions.size() < most_entries) {
    if (model.field() != opset_import) continue;
    std::string domain;
    int64_t version = 0;
    WireReader entry = model.message();
    while (entry.next()) {
      if (entry.field() == 1) domain = as_string(entry.bytes());
      if (entry.field() == 2) version = entry.integer();
    }
    if (!domain.empty() && domain != "ai.onnx") versions.insert_or_assign(domain, version);
  }
  return versions;
}

DomainVersions read_onnx_domains(const std::string& path) { return onnx_domains(map_file(path).bytes()); }

}  // namespace deepgap
