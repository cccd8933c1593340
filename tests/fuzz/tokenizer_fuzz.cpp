// tokenizer.json and tokenizer_config.json as they stand beside an ONNX file, and what their tokenizer makes of a text and of a
// conversation. The first byte is the size of the vocabulary, in eights; a zero byte ends each of the two files.
#include "base/parse_json.h"
#include "fuzz.h"
#include "model/decoder/tokenizer.h"
#include "model/decoder/tokenizer_json.h"

#include <algorithm>
#include <string>
#include <vector>

using namespace deepgap;

namespace {

std::string_view taken_file(std::string_view& rest) {
  const size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view file = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return file;
}

// Engines read a row of a table for each token.
void require_in_vocabulary(const std::vector<int64_t>& tokens, int64_t vocabulary) {
  if (std::all_of(tokens.begin(), tokens.end(), [&](int64_t token) { return token >= 0 && token < vocabulary; })) return;
  std::fprintf(stderr, "a token outside of the vocabulary\n");
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("files accepted"), tokenizers("tokenizers made");
  if (size == 0) return -1;
  std::string_view rest = fuzz::text_of(data + 1, size - 1);
  const nlohmann::json file = parse_json(taken_file(rest)), config = parse_json(taken_file(rest));
  if (!file.is_object()) return -1;
  const int64_t vocabulary = 8 * (1 + int64_t{data[0]});
  share.count(fuzz::accepts([&] {
    const TokenizerData read = tokenizer_of_json(file, config, vocabulary);
    fuzz::accepts([&] { conversation_text(read, R"([{"role": "user", "content": "Hi"}])"); });
    tokenizers.count(fuzz::accepts([&] {
      const auto tokenizer = make_file_tokenizer(read);
      for (const std::string_view text : {std::string_view("It's 12 o'clock, \xc3\xa9!"), rest}) {
        const std::vector<int64_t> tokens = tokenizer->encode(text);
        require_in_vocabulary(tokens, vocabulary);
        tokenizer->decode(tokens);
      }
    }));
  }));
  return 0;
}
