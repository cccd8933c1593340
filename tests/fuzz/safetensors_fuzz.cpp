// Safetensors: header and tensors, every byte of which is read. By the first byte the rest is a file, or a header and, after a zero, data,
// which are put together with the right length.
#include "file_of_bytes.h"
#include "fuzz.h"
#include "model/weights/safetensors.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace deepgap;

namespace {

std::string file_of(uint8_t kind, std::string_view rest) {
  if (kind % 2 == 0) return std::string(rest);
  const uint64_t length = std::min(rest.find('\0'), rest.size());
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file += rest.substr(0, length);
  if (length < rest.size()) file += rest.substr(length + 1);
  return file;
}

// Aligned as a mapping is.
MappedFile mapped(const std::string& content) {
  auto* bytes = static_cast<std::byte*>(std::aligned_alloc(64, (content.size() + 63) / 64 * 64 + 64));
  std::memcpy(bytes, content.data(), content.size());
  return {std::shared_ptr<const std::byte>(bytes, [](const std::byte* p) { std::free(const_cast<std::byte*>(p)); }), content.size()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("files accepted");
  if (size == 0) return -1;
  const MappedFile file = mapped(file_of(data[0], fuzz::text_of(data + 1, size - 1)));
  unsigned sum = 0;
  share.count(fuzz::accepts([&] {
    for (const auto& [name, tensor] : parse_safetensors(file, "fuzz")) {
      for (size_t i = 0; i < tensor.bytes(); ++i) sum += static_cast<unsigned>(tensor.data.get()[i]);
    }
  }));
  return sum == 1 ? -1 : 0;
}
