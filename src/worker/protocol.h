// Frames between the parent of a run and its workers: a JSON header and binary blocks, over the channel of a Subprocess.
//
//   "DGF1" | u32 header bytes | u32 number of blocks | u64 bytes of each block ... | header | blocks        (little-endian)
//
// A worker may die in the middle of a frame: what is torn is never delivered. Lengths are checked against the limits before memory is
// taken. The JSON's "kind" says what a frame is.
#pragma once

#include <deepgap/error.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

struct Frame {
  nlohmann::json header;
  std::vector<std::string> blocks;
};

inline constexpr size_t max_header_bytes = size_t{64} << 20;
inline constexpr size_t max_blocks = 16;
inline constexpr size_t max_block_bytes = size_t{2} << 30;

std::string encode_frame(const Frame& frame);

// An Error on its way to the other process: {"kind":"error","error":ErrorKind,"message"}. throw_error() throws it where a frame is one.
Frame error_frame(ErrorKind kind, const std::string& message);
void throw_error(const Frame& frame);

// Bytes in, whole frames out. Throws Error{internal} on bytes that are not a frame: what follows cannot be trusted.
class FrameParser {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  std::optional<Frame> next();
  bool torn() const { return !buffer_.empty(); }  // after the last next(): part of a frame is left

 private:
  std::string buffer_;
};

// Writes whole frames to a descriptor it does not own; any thread. Throws Error{internal} when the other side is gone.
class FrameWriter {
 public:
  explicit FrameWriter(int descriptor) : descriptor_(descriptor) {}
  void write(const Frame& frame);

 private:
  int descriptor_;
  std::mutex mutex_;
};

// Blocks until a whole frame came, or the end: nullopt. A torn last frame counts as the end.
class FrameReader {
 public:
  explicit FrameReader(int descriptor) : descriptor_(descriptor) {}
  std::optional<Frame> read();

 private:
  int descriptor_;
  FrameParser parser_;
};

}  // namespace deepgap
