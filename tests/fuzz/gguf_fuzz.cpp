// GGUF: metadata, tensors, every byte of which is read, and the decoder that they make with its tokenizer. By the first byte the rest is a
// file, or stands behind the header of version 3.
#include "file_of_bytes.h"
#include "fuzz.h"
#include "model/decoder/decoder.h"
#include "model/decoder/gguf_decoder.h"
#include "model/decoder/tokenizer.h"

#include <cstring>
#include <memory>
#include <string>

using namespace deepgap;

namespace {

std::string file_of(uint8_t kind, std::string_view rest) {
  std::string file = kind % 2 == 0 ? "" : std::string("GGUF\3\0\0\0", 8);
  return file += rest;
}

MappedFile mapped(const std::string& content) {
  auto* bytes = new std::byte[content.size() + 1];  // a file may be empty
  std::memcpy(bytes, content.data(), content.size());
  return {std::shared_ptr<const std::byte>(bytes, std::default_delete<const std::byte[]>()), content.size()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("files accepted"), decoders("decoders made");
  if (size == 0) return -1;
  const MappedFile file = mapped(file_of(data[0], fuzz::text_of(data + 1, size - 1)));
  unsigned sum = 0;
  share.count(fuzz::accepts([&] {
    const GgufFile read = parse_gguf(file, "fuzz");
    for (const auto& [name, tensor] : read.tensors)
      for (int64_t i = 0; i < tensor.bytes; ++i) sum += static_cast<unsigned>(tensor.data.get()[i]);
    decoders.count(fuzz::accepts([&] {
      const DecoderModel model = decoder_of(gguf_decoder(read));
      sum += static_cast<unsigned>(make_file_tokenizer(model.tokenizer)->encode("It's 12 o'clock, \xc3\xa9!").size());
    }));
  }));
  return sum == 1 ? -1 : 0;
}
