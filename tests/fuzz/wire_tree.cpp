#include "wire_tree.h"

#include <map>
#include <utility>

namespace deepgap::fuzz {
namespace {

constexpr int deepest = 12;

std::optional<Message> message_of(Message parent, uint32_t field) {
  using enum Message;
  static const std::map<std::pair<Message, uint32_t>, Message> parts{
      {{model, 7}, graph},         {{model, 8}, opset},      {{graph, 1}, node},       {{graph, 5}, tensor},      {{graph, 11}, value},
      {{graph, 12}, value},        {{graph, 13}, value},     {{node, 5}, attribute},   {{attribute, 5}, tensor},  {{attribute, 6}, graph},
      {{attribute, 10}, tensor},   {{attribute, 11}, graph}, {{model, 25}, function},  {{function, 7}, node},     {{function, 9}, opset},
      {{function, 11}, attribute}, {{value, 2}, type},       {{type, 1}, tensor_type}, {{tensor_type, 2}, shape}, {{shape, 1}, dim},
  };
  const auto found = parts.find({parent, field});
  if (found == parts.end()) return std::nullopt;
  return found->second;
}

std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

void add_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

// The field's content after its key; false where it is none.
bool take_content(std::string_view& bytes, WireField& field) {
  std::optional<uint64_t> length;
  switch (field.type) {
    case 0:
      length = take_varint(bytes);
      if (length) field.integer = *length;
      return length.has_value();
    case 1:
      length = 8;
      break;
    case 2:
      length = take_varint(bytes);
      break;
    case 5:
      length = 4;
      break;
    default:
      return false;
  }
  if (!length || *length > bytes.size()) return false;
  field.bytes = bytes.substr(0, *length);
  bytes.remove_prefix(*length);
  return true;
}

}  // namespace

std::optional<std::vector<WireField>> read_fields(std::string_view bytes, Message of, int depth) {
  std::vector<WireField> fields;
  while (!bytes.empty()) {
    const auto key = take_varint(bytes);
    if (!key) return std::nullopt;
    WireField field{.number = static_cast<uint32_t>(*key >> 3), .type = static_cast<uint8_t>(*key & 7)};
    if (!take_content(bytes, field)) return std::nullopt;
    const auto message = field.type == 2 && depth < deepest ? message_of(of, field.number) : std::nullopt;
    if (message) {
      if (auto inner = read_fields(field.bytes, *message, depth + 1)) {
        field.message = message;
        field.fields = std::move(*inner);
        field.bytes.clear();
      }
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string write_fields(const std::vector<WireField>& fields) {
  std::string out;
  for (const WireField& field : fields) {
    add_varint(out, uint64_t{field.number} << 3 | field.type);
    if (field.type == 0) {
      add_varint(out, field.integer);
      continue;
    }
    const std::string content = field.message ? write_fields(field.fields) : field.bytes;
    if (field.type == 2) add_varint(out, content.size());
    out += content;
  }
  return out;
}

}  // namespace deepgap::fuzz
