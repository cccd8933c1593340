#include "model/weights/safetensors.h"

#include "base/confine.h"
#include "base/dump_json.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "base/words.h"
#include "model/checked.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

namespace deepgap {
namespace {

using Json = nlohmann::json;

constexpr uint64_t max_header_bytes = uint64_t{32} << 20;
constexpr int64_t max_elements = int64_t{1} << 40;

struct TypeName {
  std::string_view name;
  DataType type;
};
constexpr TypeName type_names[] = {{"F64", DataType::f64},     {"F32", DataType::f32}, {"F16", DataType::f16}, {"BF16", DataType::bf16},
                                   {"I64", DataType::i64},     {"I32", DataType::i32}, {"I16", DataType::i16}, {"I8", DataType::i8},
                                   {"U64", DataType::u64},     {"U32", DataType::u32}, {"U16", DataType::u16}, {"U8", DataType::u8},
                                   {"BOOL", DataType::boolean}};

// One file while it is read; every fault names it.
class Reader {
 public:
  Reader(const MappedFile& file, const std::string& path) : path_(path), file_(file) {}
  std::map<std::string, Tensor> read();

 private:
  // A cause may quote names out of the file.
  [[noreturn]] void fail(std::string_view cause) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}", path_, one_line(std::string(cause))));
  }
  Json parse_header();
  Tensor tensor(const std::string& name, const Json& entry);
  std::vector<uint64_t> sizes(const std::string& name, const Json& entry, const char* key) const;
  void check_layout();

  struct Extent {
    uint64_t begin = 0, end = 0;
  };
  const std::string& path_;
  const MappedFile& file_;
  std::span<const std::byte> data_;
  std::vector<Extent> extents_;
};

Json Reader::parse_header() {
  uint64_t length = 0;
  if (file_.size < sizeof(length)) fail("no safetensors file: it has less than 8 bytes");
  std::memcpy(&length, file_.data.get(), sizeof(length));
  if (length > max_header_bytes || length > file_.size - sizeof(length))
    fail(fmt::format("no safetensors file, or cut off: its header would have {} bytes", length));
  const char* text = reinterpret_cast<const char*>(file_.data.get()) + sizeof(length);
  data_ = file_.bytes().subspan(sizeof(length) + length);
  const auto shallow = [this](int depth, Json::parse_event_t, const Json&) {
    if (depth > 4) fail("its header is nested too deep");
    return true;
  };
  try {
    Json header = Json::parse(text, text + length, shallow);
    if (!header.is_object()) fail("its header is not a JSON object");
    return header;
  } catch (const Json::exception&) {
    fail("its header is not JSON");
  }
}

std::vector<uint64_t> Reader::sizes(const std::string& name, const Json& entry, const char* key) const {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array() || found->size() > 64) fail(fmt::format("tensor '{}': {} is not a list", name, key));
  std::vector<uint64_t> values;
  for (const Json& value : *found) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      fail(fmt::format("tensor '{}': {} contains an invalid size", name, key));
    values.push_back(value.get<uint64_t>());
  }
  return values;
}

Tensor Reader::tensor(const std::string& name, const Json& entry) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string()) fail(fmt::format("tensor '{}' has no dtype", name));
  const auto type = std::find_if(std::begin(type_names), std::end(type_names),
                                 [&](const TypeName& row) { return row.name == entry["dtype"].get_ref<const std::string&>(); });
  if (type == std::end(type_names)) fail(fmt::format("tensor '{}': its dtype is not supported", name));
  Tensor tensor{type->type, {}, nullptr};
  for (const uint64_t size : sizes(name, entry, "shape")) tensor.shape.push_back(static_cast<int64_t>(size));
  const auto elements = checked_elements(tensor.shape, max_elements);
  if (!elements) fail(fmt::format("tensor '{}': its shape is beyond all reason", name));
  const std::vector<uint64_t> range = sizes(name, entry, "data_offsets");
  if (range.size() != 2 || range[0] > range[1] || range[1] > data_.size())
    fail(fmt::format("tensor '{}': its data lies outside of the file, which may be cut off", name));
  if (range[1] - range[0] != tensor.bytes())
    fail(fmt::format("tensor '{}': its shape needs {} bytes, it has {}", name, tensor.bytes(), range[1] - range[0]));
  extents_.push_back({range[0], range[1]});
  const std::byte* at = data_.data() + range[0];
  const bool aligned = reinterpret_cast<uintptr_t>(at) % byte_size(tensor.type) == 0;
  if (aligned && tensor.type != DataType::boolean) {
    tensor.data = std::shared_ptr<const std::byte>(file_.data, at);
    return tensor;
  }
  Tensor copy = make_tensor(tensor.type, tensor.shape);
  if (copy.bytes() > 0) std::memcpy(const_cast<std::byte*>(copy.data.get()), at, copy.bytes());
  if (copy.type == DataType::boolean) {
    for (uint8_t& value : writable<uint8_t>(copy)) value = value != 0;  // any other value must not be looked at as a bool
  }
  return copy;
}

// The format wants every byte to belong to one tensor.
void Reader::check_layout() {
  std::sort(extents_.begin(), extents_.end(),
            [](const Extent& a, const Extent& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  uint64_t at = 0;
  for (const Extent& extent : extents_) {
    if (extent.begin != at) fail(fmt::format("its tensors overlap or leave holes at byte {} of the data", std::min(at, extent.begin)));
    at = extent.end;
  }
  if (at != data_.size()) fail(fmt::format("{} bytes at its end belong to no tensor", data_.size() - at));
}

std::map<std::string, Tensor> Reader::read() {
  const Json header = parse_header();
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") tensors.emplace(name, tensor(name, entry));
  }
  check_layout();
  return tensors;
}

}  // namespace

std::map<std::string, Tensor> parse_safetensors(const MappedFile& file, const std::string& name) {
  try {
    return Reader(file, name).read();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::input, fmt::format("{}: it needs {}", name, too_much_memory()));
  }
}

std::map<std::string, Tensor> read_safetensors(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))  // a pipe would block
    throw Error(ErrorKind::input, fmt::format("{}: it is not a regular file", path));
  const MappedFile file = map_file(path);
  if (const std::string kind = other_file_kind(file.bytes()); !kind.empty() && !is_safetensors_file(file.bytes()))
    throw Error(ErrorKind::input, fmt::format("{}: it {}", path, kind));
  return parse_safetensors(file, path);
}

std::string safetensors_content(const std::map<std::string, Tensor>& tensors, const std::map<std::string, std::string>& metadata) {
  std::vector<std::pair<std::string, const Tensor*>> order;
  for (const auto& [name, tensor] : tensors) order.emplace_back(name, &tensor);
  // Wide elements first, so that all stay aligned.
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return byte_size(a.second->type) > byte_size(b.second->type); });
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const auto& [name, tensor] : order) {
    const auto type =
        std::find_if(std::begin(type_names), std::end(type_names), [&, t = tensor](const TypeName& row) { return row.type == t->type; });
    header[name] = {{"dtype", type->name}, {"shape", tensor->shape}, {"data_offsets", {at, at + tensor->bytes()}}};
    at += tensor->bytes();
  }
  std::string text = dump_line(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  std::string content(reinterpret_cast<const char*>(&length), sizeof(length));
  content.reserve(content.size() + text.size() + at);
  content += text;
  for (const auto& [name, tensor] : order) content.append(reinterpret_cast<const char*>(tensor->data.get()), tensor->bytes());
  return content;
}

void write_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_file_atomic(path, safetensors_content(tensors, metadata));
}

}  // namespace deepgap
