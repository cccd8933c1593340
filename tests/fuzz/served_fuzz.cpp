// What servers say besides their answers: Prometheus metrics, and words from which a token must be taken out. The first byte says which.
#include "backends/http/metrics_text.h"
#include "backends/http/redaction.h"
#include "backends/http/request_error.h"

#include "fuzz.h"

#include <cstdlib>
#include <string>

using namespace deepgap;

namespace {

constexpr std::string_view token = "sk-9fQ2xWv7Lm4Zt";

void take_token_out(std::string_view words) {
  const std::string left = without_token(words, token);
  if (left.find(token) != std::string::npos) std::abort();
  if (without_token(std::string(words) + std::string(token), token).find(token) != std::string::npos) std::abort();
  if (short_words(words, token).find('\n') != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("metrics with a known name");
  if (size == 0) return -1;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  if (data[0] % 2 == 0) {
    share.count(!read_metrics(text, "tiny").empty());
  } else {
    take_token_out(text);
  }
  return 0;
}
