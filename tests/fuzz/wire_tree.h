// An ONNX file as a tree of protobuf fields that can be changed and written again: lengths come out right whatever happens inside. It knows
// the schema only as far as which fields are messages, and reads nothing that deepgap's own reader reads it with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap::fuzz {

enum class Message { model, graph, node, attribute, tensor, value, type, tensor_type, shape, dim, opset, function };

struct WireField {
  uint32_t number = 0;
  uint8_t type = 0;                // protobuf's: 0 varint, 1 eight bytes, 2 length, 5 four bytes
  uint64_t integer = 0;            // content of a varint
  std::string bytes;               // content of the other types, unless it is a message
  std::optional<Message> message;  // what `fields` are of
  std::vector<WireField> fields;
};

// nullopt where it is not a protobuf; a part that is not a message stays bytes.
std::optional<std::vector<WireField>> read_fields(std::string_view bytes, Message of, int depth = 0);
std::string write_fields(const std::vector<WireField>& fields);

}  // namespace deepgap::fuzz
