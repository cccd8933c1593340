#include "model/wire.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace deepgap {

static_assert(std::endian::native == std::endian::little, "fixed-width fields are copied as they lie");

void WireReader::fail(std::string_view cause) const {
  throw Error(ErrorKind::input, fmt::format("malformed at byte {}: {}", at_ - file_begin_, cause));
}

uint64_t WireReader::read_varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) fail("it is cut off");
    const auto byte = static_cast<uint64_t>(*at_++);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fail("a number has more than 64 bits");
}

std::span<const std::byte> WireReader::take(uint64_t count) {
  if (count > static_cast<uint64_t>(end_ - at_)) fail(fmt::format("{} bytes announced, {} left", count, end_ - at_));
  const std::span<const std::byte> taken(at_, count);
  at_ += count;
  return taken;
}

bool WireReader::next() {
  if (at_ == end_) return false;
  const uint64_t key = read_varint();
  if (key >> 3 == 0 || key >> 3 > 536'870'911) fail("no valid field number");
  field_ = static_cast<uint32_t>(key >> 3);
  switch (key & 7) {
    case 0:
      type_ = Type::varint;
      value_ = read_varint();
      return true;
    case 1:
      type_ = Type::fixed64;
      content_ = take(8);
      return true;
    case 2:
      type_ = Type::length;
      content_ = take(read_varint());
      return true;
    case 5:
      type_ = Type::fixed32;
      content_ = take(4);
      return true;
    default:
      fail(fmt::format("field {} has wire type {}, which ONNX never uses", field_, key & 7));
  }
}

int64_t WireReader::integer() const {
  if (type_ != Type::varint) fail(fmt::format("field {} should be an integer", field_));
  return static_cast<int64_t>(value_);
}

float WireReader::number() const {
  if (type_ != Type::fixed32) fail(fmt::format("field {} should be a float", field_));
  float value = 0;
  std::memcpy(&value, content_.data(), sizeof(value));
  return value;
}

std::span<const std::byte> WireReader::bytes() const {
  if (type_ != Type::length) fail(fmt::format("field {} should have a length", field_));
  return content_;
}

std::string_view WireReader::text() const {
  const auto content = bytes();
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (!is_printable_utf8(text)) fail(fmt::format("the text of field {} is not UTF-8 or holds control characters", field_));
  return text;
}

void WireReader::append_integers(std::vector<int64_t>& to) const {
  if (type_ == Type::varint) {
    to.push_back(static_cast<int64_t>(value_));
    return;
  }
  WireReader packed(bytes(), file_begin_);
  while (packed.at_ != packed.end_) to.push_back(static_cast<int64_t>(packed.read_varint()));
}

template <typename T>
void WireReader::append_fixed(std::vector<T>& to, Type single) const {
  if (type_ != single && type_ != Type::length) fail(fmt::format("field {} has the wrong wire type", field_));
  if (content_.empty()) return;
  if (content_.size() % sizeof(T) != 0) fail(fmt::format("the packed numbers of field {} are cut off", field_));
  const size_t before = to.size();
  to.resize(before + content_.size() / sizeof(T));
  std::memcpy(to.data() + before, content_.data(), content_.size());
}

void WireReader::append_floats(std::vector<float>& to) const { append_fixed(to, Type::fixed32); }
void WireReader::append_doubles(std::vector<double>& to) const { append_fixed(to, Type::fixed64); }

bool is_printable_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      if (lead < 0x20 || lead == 0x7f) return false;
      ++i;
      continue;
    }
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || i + length > text.size()) return false;
    uint32_t code = lead & (0xffu >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      const auto trail = static_cast<unsigned char>(text[i + k]);
      if ((trail & 0xc0) != 0x80) return false;
      code = code << 6 | (trail & 0x3fu);
    }
    const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    // Overlong forms, surrogates and the second block of control characters are not text either.
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) || code < 0xa0) return false;
    i += length;
  }
  return true;
}

void WireWriter::varint(uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

void WireWriter::integer(uint32_t field, int64_t value) {
  varint(uint64_t{field} << 3);
  varint(static_cast<uint64_t>(value));
}

void WireWriter::number(uint32_t field, float value) {
  varint(uint64_t{field} << 3 | 5);
  char content[sizeof(value)];
  std::memcpy(content, &value, sizeof(value));
  out_.append(content, sizeof(value));
}

void WireWriter::header(uint32_t field, uint64_t size) {
  varint(uint64_t{field} << 3 | 2);
  varint(size);
}

void WireWriter::bytes(uint32_t field, std::string_view content) {
  header(field, content.size());
  out_.append(content);
}

}  // namespace deepgap
