#include "worker/protocol.h"

#include "base/byte_text.h"
#include "base/dump_json.h"
#include "base/parse_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace deepgap {
namespace {

constexpr std::string_view magic = "DGF1";
constexpr size_t prefix_bytes = 4 + 4 + 4;

void put_little_endian(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t get_little_endian(std::string_view bytes, size_t offset, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[offset + static_cast<size_t>(i)])} << (8 * i);
  return value;
}

[[noreturn]] void broken(std::string_view what) {
  throw Error(ErrorKind::internal, fmt::format("broken frame on the worker's channel: {}", what));
}

void check_limit(uint64_t value, uint64_t limit, std::string_view what) {
  if (value > limit) broken(fmt::format("{} {} is over the limit of {}", what, value, limit));
}

bool may_stand_for_bytes(std::string_view text) { return text.find("\xEF\x9E") != text.npos || text.find("\xEF\x9F") != text.npos; }

void convert_texts(nlohmann::json& json, std::string (*convert)(std::string_view)) {
  if (json.is_string()) json = convert(json.get_ref<const std::string&>());
  if (json.is_structured()) {
    for (nlohmann::json& part : json) convert_texts(part, convert);
  }
}

// Names of files need be no UTF-8, and come to the other process as they are.
std::string header_text(const nlohmann::json& header) {
  std::string text = dump_line(header);
  if (text.find("\xEF\xBF\xBD") == text.npos && !may_stand_for_bytes(text)) return text;
  nlohmann::json converted = header;
  convert_texts(converted, as_utf8);
  return dump_line(converted);
}

nlohmann::json parse_header(std::string_view text) {
  nlohmann::json header = parse_json(text);
  if (!header.is_object()) broken("its header is not a JSON object");
  if (may_stand_for_bytes(text)) convert_texts(header, of_utf8);
  return header;
}

}  // namespace

std::string encode_frame(const Frame& frame) {
  const std::string header = header_text(frame.header);
  check_limit(header.size(), max_header_bytes, "header size");
  check_limit(frame.blocks.size(), max_blocks, "number of blocks");
  std::string bytes(magic);
  put_little_endian(bytes, header.size(), 4);
  put_little_endian(bytes, frame.blocks.size(), 4);
  for (const std::string& block : frame.blocks) {
    check_limit(block.size(), max_block_bytes, "block size");
    put_little_endian(bytes, block.size(), 8);
  }
  bytes += header;
  for (const std::string& block : frame.blocks) bytes += block;
  return bytes;
}

Frame error_frame(ErrorKind kind, const std::string& message) {
  return {{{"kind", "error"}, {"error", static_cast<int>(kind)}, {"message", message}}, {}};
}

void throw_error(const Frame& frame) {
  if (frame.header.value("kind", "") != "error") return;
  throw Error(static_cast<ErrorKind>(frame.header.at("error").get<int>()), frame.header.at("message").get<std::string>());
}

std::optional<Frame> FrameParser::next() {
  const size_t known = std::min(buffer_.size(), magic.size());
  if (std::string_view(buffer_).substr(0, known) != magic.substr(0, known)) broken("it does not begin as one");
  if (buffer_.size() < prefix_bytes) return std::nullopt;
  const uint64_t header_bytes = get_little_endian(buffer_, 4, 4);
  const uint64_t blocks = get_little_endian(buffer_, 8, 4);
  check_limit(header_bytes, max_header_bytes, "header size");
  check_limit(blocks, max_blocks, "number of blocks");
  size_t offset = prefix_bytes + 8 * blocks;
  if (buffer_.size() < offset) return std::nullopt;
  std::vector<size_t> sizes;
  size_t total = offset + header_bytes;
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t size = get_little_endian(buffer_, prefix_bytes + 8 * i, 8);
    check_limit(size, max_block_bytes, "block size");
    sizes.push_back(size);
    total += size;
  }
  if (buffer_.size() < total) return std::nullopt;
  Frame frame{parse_header(std::string_view(buffer_).substr(offset, header_bytes)), {}};
  offset += header_bytes;
  for (const size_t size : sizes) {
    frame.blocks.push_back(buffer_.substr(offset, size));
    offset += size;
  }
  buffer_.erase(0, total);
  if (buffer_.empty()) buffer_.shrink_to_fit();  // a Record's blocks can be large
  return frame;
}

void FrameWriter::write(const Frame& frame) {
  const std::string bytes = encode_frame(frame);
  const std::lock_guard lock(mutex_);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    // send() takes MSG_NOSIGNAL: a parent that is gone must be an error here, whatever the program did about SIGPIPE.
    const ssize_t written = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error(ErrorKind::internal, fmt::format("cannot write to the worker's channel: {}", std::strerror(errno)));
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

std::optional<Frame> FrameReader::read() {
  std::array<char, 65536> buffer{};
  while (true) {
    if (auto frame = parser_.next()) return frame;
    const ssize_t count = ::read(descriptor_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    parser_.feed({buffer.data(), static_cast<size_t>(count)});
  }
}

}  // namespace deepgap
