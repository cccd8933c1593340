// Timings and series as compressed blocks, on the wire and in the Store: delta + zigzag varint per column, then zstd with a checksum.
// docs/reference/database.md has the layout. Decoding checks every length: blocks may come from a damaged file.
// Pure functions; any thread.
#pragma once

#include <deepgap/record.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

std::string encode_timings(std::span<const Timing> timings);
std::vector<Timing> decode_timings(std::string_view block);  // throws Error{input}
std::string encode_series(std::span<const Series> series);
std::vector<Series> decode_series(std::string_view block);  // throws Error{input}

// Returns how many timings a block holds, without decompressing it. Throws Error{input}.
int64_t timing_count(std::string_view block);

}  // namespace deepgap
