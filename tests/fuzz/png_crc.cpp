#include "png_crc.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace deepgap::fuzz {
namespace {

uint32_t crc_of(std::span<const uint8_t> bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xedb88320u ^ (value >> 1) : value >> 1;
      made[i] = value;
    }
    return made;
  }();
  uint32_t crc = 0xffffffffu;
  for (const uint8_t byte : bytes) crc = table[(crc ^ byte) & 0xff] ^ (crc >> 8);
  return ~crc;
}

uint32_t big_endian(const uint8_t* at) { return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3]; }

}  // namespace

void set_png_crcs(std::span<uint8_t> file) {
  constexpr size_t signature = 8, around = 12;  // length, name and check sum of a chunk
  if (file.size() < signature || std::memcmp(file.data(), "\x89PNG\r\n\x1a\n", signature) != 0) return;
  for (size_t at = signature; at + around <= file.size();) {
    const size_t length = big_endian(&file[at]);
    if (length > file.size() - at - around) return;
    const uint32_t crc = crc_of(file.subspan(at + 4, length + 4));
    for (size_t i = 0; i < 4; ++i) file[at + 8 + length + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += around + length;
  }
}

}  // namespace deepgap::fuzz
