// The protobuf wire format, read in place and written to a string. deepgap walks it itself instead of linking a protobuf runtime:
// engines bring protobuf runtimes of their own into the same process, whose symbols must meet no other copy; limits are checked before
// memory is taken; and a tensor's bytes go from the file's mapping to their final place in one copy. onnx.proto holds the schema; the
// tests compile it with protobuf to judge both directions.
//
// Used by the ONNX reader and writer. A WireReader borrows its bytes. Every fault throws Error{input} naming the byte offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

class WireReader {
 public:
  // `file_begin` is where offsets in messages are counted from.
  WireReader(std::span<const std::byte> message, const std::byte* file_begin)
      : at_(message.data()), end_(message.data() + message.size()), file_begin_(file_begin) {}

  bool next();  // to the next field; false at the end of the message
  uint32_t field() const { return field_; }

  // The current field's content; a fault when its wire type is another.
  int64_t integer() const;
  float number() const;
  std::span<const std::byte> bytes() const;
  bool is_bytes() const { return type_ == Type::length; }  // a text, bytes or a message
  std::string_view text() const;                           // names and words: valid UTF-8 without control characters
  WireReader message() const { return part(bytes()); }
  WireReader part(std::span<const std::byte> message) const { return {message, file_begin_}; }  // offsets as in this one

  // Repeated fields come packed in one field or one by one.
  void append_integers(std::vector<int64_t>& to) const;
  void append_floats(std::vector<float>& to) const;
  void append_doubles(std::vector<double>& to) const;

  [[noreturn]] void fail(std::string_view cause) const;

 private:
  enum class Type : uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

  uint64_t read_varint();
  std::span<const std::byte> take(uint64_t count);
  template <typename T>
  void append_fixed(std::vector<T>& to, Type single) const;

  const std::byte* at_;
  const std::byte* end_;
  const std::byte* file_begin_;
  uint32_t field_ = 0;
  Type type_ = Type::varint;
  uint64_t value_ = 0;                  // content of a varint
  std::span<const std::byte> content_;  // content of the other types
};

// Returns whether `text` is UTF-8 without control characters: what may stand in a one-line message and in JSON.
bool is_printable_utf8(std::string_view text);

// Appends fields to `out` in the order of the calls.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  void integer(uint32_t field, int64_t value);
  void number(uint32_t field, float value);
  void bytes(uint32_t field, std::string_view content);
  // The key and length of a field whose `size` bytes the caller appends to the string right after.
  void header(uint32_t field, uint64_t size);

 private:
  void varint(uint64_t value);
  std::string& out_;
};

}  // namespace deepgap
