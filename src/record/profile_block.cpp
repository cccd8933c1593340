#include "record/profile_block.h"

#include "record/block_bytes.h"

#include <utility>

namespace deepgap {
namespace {

constexpr std::string_view tag = "DGP1";
constexpr uint64_t most_bytes = uint64_t{256} << 20;

}  // namespace

std::string encode_profile(std::string_view json) { return seal_block(tag, json.size(), json); }

std::string decode_profile(std::string_view block) {
  OpenedBlock opened = open_block(tag, "profile", block, most_bytes, 1);
  if (opened.payload.size() != opened.count) ByteReader({}, "profile").fail("it has not the length that it claims");
  return std::move(opened.payload);
}

}  // namespace deepgap
