// Timings and series as they rest in a Store; the first byte says which. What is accepted comes back the same.
#include "fuzz.h"
#include "record/block_bytes.h"
#include "record/timing_block.h"

#include <cstdlib>

using namespace deepgap;

namespace {

// The block as it is, or with the input as its payload, sealed as a true one is.
std::string block_of(uint8_t kind, std::string_view rest) {
  if ((kind & 2) == 0) return std::string(rest);
  const uint64_t count = rest.empty() ? 0 : static_cast<uint8_t>(rest.front());
  return seal_block((kind & 1) == 0 ? "DGT1" : "DGS1", count, rest.substr(rest.empty() ? 0 : 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("blocks accepted");
  if (size == 0) return -1;
  const std::string block = block_of(data[0], fuzz::text_of(data + 1, size - 1));
  share.count(fuzz::accepts([&] {
    if ((data[0] & 1) == 0) {
      const auto timings = decode_timings(block);
      if (timing_count(block) != static_cast<int64_t>(timings.size())) std::abort();
      const std::string encoded = encode_timings(timings);
      if (encode_timings(decode_timings(encoded)) != encoded) std::abort();
    } else {
      const std::string encoded = encode_series(decode_series(block));
      if (encode_series(decode_series(encoded)) != encoded) std::abort();
    }
  }));
  return 0;
}
