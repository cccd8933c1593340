#include "record/block_bytes.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

namespace deepgap {
namespace {

constexpr int compression_level = 3;
constexpr uint64_t most_payload_bytes = uint64_t{1} << 30;

// Reads tag and count; leaves `reader` at the compressed frame.
uint64_t read_front(ByteReader& reader, std::string_view tag) {
  if (reader.left() < tag.size()) reader.fail("it is cut off");
  for (const char letter : tag) {
    if (reader.byte() != static_cast<uint8_t>(letter)) reader.fail("it has another format or version");
  }
  return reader.varint();
}

}  // namespace

void ByteWriter::varint(uint64_t value) {
  while (value >= 0x80) {
    byte(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  byte(static_cast<uint8_t>(value));
}

void ByteWriter::fixed64(uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) byte(static_cast<uint8_t>(value >> shift));
}

void ByteWriter::text(std::string_view text) {
  varint(text.size());
  bytes_.append(text);
}

void ByteReader::fail(std::string_view cause) const { throw Error(ErrorKind::input, fmt::format("damaged {} block: {}", kind_, cause)); }

uint8_t ByteReader::byte() {
  if (left() == 0) fail("it is cut off");
  return static_cast<uint8_t>(bytes_[position_++]);
}

uint64_t ByteReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint64_t part = byte();
    if (shift == 63 && part > 1) break;
    value |= (part & 0x7f) << shift;
    if ((part & 0x80) == 0) return value;
  }
  fail("a number is longer than 64 bits");
}

uint64_t ByteReader::fixed64() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 8) value |= uint64_t{byte()} << shift;
  return value;
}

std::string ByteReader::text() {
  const uint64_t size = varint();
  if (size > left()) fail("a text is longer than the block");
  std::string text(bytes_.substr(position_, size));
  position_ += size;
  return text;
}

void ByteReader::expect_end() const {
  if (left() != 0) fail("bytes are left over");
}

std::string seal_block(std::string_view tag, uint64_t count, std::string_view payload) {
  ByteWriter front;
  for (const char letter : tag) front.byte(static_cast<uint8_t>(letter));
  front.varint(count);
  std::string block = front.bytes();
  const size_t begin = block.size();
  block.resize(begin + ZSTD_compressBound(payload.size()));
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (!context) throw Error(ErrorKind::internal, "cannot compress a block: no memory");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, compression_level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  const size_t size = ZSTD_compress2(context.get(), block.data() + begin, block.size() - begin, payload.data(), payload.size());
  if (ZSTD_isError(size) != 0) throw Error(ErrorKind::internal, fmt::format("cannot compress a block: {}", ZSTD_getErrorName(size)));
  block.resize(begin + size);
  return block;
}

OpenedBlock open_block(std::string_view tag, std::string_view kind, std::string_view block, uint64_t count_limit,
                       uint64_t bytes_each_at_most) {
  ByteReader reader(block, kind);
  OpenedBlock opened;
  opened.count = read_front(reader, tag);
  if (opened.count > count_limit) reader.fail(fmt::format("it claims {} entries, the limit is {}", opened.count, count_limit));
  const std::string_view frame = block.substr(block.size() - reader.left());
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) reader.fail("its compressed part is not whole");
  if (size > most_payload_bytes || size > opened.count * bytes_each_at_most) reader.fail("its size does not fit its number of entries");
  opened.payload.resize(size);
  const size_t written = ZSTD_decompress(opened.payload.data(), opened.payload.size(), frame.data(), frame.size());
  if (ZSTD_isError(written) != 0) reader.fail(ZSTD_getErrorName(written));
  if (written != size) reader.fail("its compressed part is not whole");
  return opened;
}

uint64_t block_count(std::string_view tag, std::string_view kind, std::string_view block) {
  ByteReader reader(block, kind);
  return read_front(reader, tag);
}

}  // namespace deepgap
