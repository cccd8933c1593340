// What a server of OpenAI's protocol streams: server-sent events with chunks of JSON. The first byte is the size of the pieces in which the
// stream comes.
#include "backends/openai/token_answer.h"

#include "fuzz.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

using namespace deepgap;

namespace {

constexpr int64_t limit = 40;

struct Ending {
  std::unique_ptr<TokenAnswer> answer = std::make_unique<TokenAnswer>();
  std::string why;  // it is wrong; empty: it is not
};

Ending answer_in_pieces(std::string_view stream, size_t size) {
  Ending ending;
  ending.answer->begin(limit);
  for (size_t at = 0; at < stream.size(); at += size)
    if (!ending.answer->take(stream.substr(at, size), static_cast<Nanoseconds>(at))) break;
  ending.why = ending.answer->finish(static_cast<Nanoseconds>(stream.size()));
  return ending;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void check_marks(const TokenAnswer& answer) {
  const TokenCounts& counts = answer.counts();
  int64_t tokens = 0;
  Nanoseconds last = 0;
  for (const Mark& mark : answer.marks()) {
    require(mark.count > 0 && mark.ns >= last);
    last = mark.ns;
    tokens += mark.count;
  }
  require(counts.chunks == static_cast<int64_t>(answer.marks().size()));
  if (counts.split) require(tokens == counts.output);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("streams accepted");
  if (size == 0) return -1;
  const std::string_view stream = fuzz::text_of(data + 1, size - 1);
  const Ending whole = answer_in_pieces(stream, std::max<size_t>(stream.size(), 1));
  const Ending pieces = answer_in_pieces(stream, size_t{data[0]} + 1);
  // How a stream is cut decides nothing.
  require(whole.why == pieces.why && whole.answer->text() == pieces.answer->text());
  require(whole.why.find('\n') == std::string::npos);
  if (whole.why.empty()) {
    check_marks(*whole.answer);
    check_marks(*pieces.answer);
  }
  share.count(whole.why.empty());
  return 0;
}
