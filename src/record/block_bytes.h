// The bytes of a block: varints, strings and a compressed payload behind a four-letter tag. Only for timing_block.cpp and
// profile_block.cpp. A block is: tag, varint count (what it counts is the tag's affair), one zstd frame with content size and checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deepgap {

// Differences are taken modulo 2^64, so that every pair of values has one and it always comes back exactly.
constexpr uint64_t zigzag(uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
constexpr uint64_t unzigzag(uint64_t coded) { return (coded >> 1) ^ (0 - (coded & 1)); }

class ByteWriter {
 public:
  void varint(uint64_t value);
  void fixed64(uint64_t value);  // little-endian
  void byte(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void text(std::string_view text);  // length, bytes
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Throws Error{input} "damaged KIND block: ..." on anything that does not fit; never reads outside.
class ByteReader {
 public:
  ByteReader(std::string_view bytes, std::string_view kind) : bytes_(bytes), kind_(kind) {}
  uint64_t varint();
  uint64_t fixed64();
  uint8_t byte();
  std::string text();
  size_t left() const { return bytes_.size() - position_; }
  void expect_end() const;
  [[noreturn]] void fail(std::string_view cause) const;

 private:
  std::string_view bytes_;
  std::string_view kind_;
  size_t position_ = 0;
};

std::string seal_block(std::string_view tag, uint64_t count, std::string_view payload);

struct OpenedBlock {
  uint64_t count = 0;
  std::string payload;
};
// `bytes_each_at_most` bounds the payload by the count, so that a forged size cannot ask for memory that no true block needs.
OpenedBlock open_block(std::string_view tag, std::string_view kind, std::string_view block, uint64_t count_limit,
                       uint64_t bytes_each_at_most);
uint64_t block_count(std::string_view tag, std::string_view kind, std::string_view block);

}  // namespace deepgap
