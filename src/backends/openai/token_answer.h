// TokenAnswer: what one request gave, as its stream comes: deliveries of tokens with their times, counts, and what is wrong with it.
//
// How many tokens a chunk holds is known where the server counts in each chunk; else each chunk with text is one, and where the server's
// total is larger, the tokens are spread over the chunks by the length of their text, which TokenCounts::split says.
#pragma once

#include "backends/openai/chunk.h"
#include "backends/openai/event_stream.h"

#include <deepgap/session.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

class TokenAnswer {
 public:
  // Call it before the next request, which asks for `limit` tokens at most; 0: for any number.
  void begin(int64_t limit);
  // A piece of the stream that came now. False: the stream is to be ended: it is complete, or request_error() says why not.
  bool take(std::string_view piece, Nanoseconds now);
  // The connection brought all it had. Empty: the answer is complete; else what is missing.
  std::string finish(Nanoseconds now);

  std::span<const Mark> marks() const { return marks_; }
  const TokenCounts& counts() const { return counts_; }
  const std::string& text() const { return text_; }
  const std::map<std::string, double>& timings() const { return timings_; }

 private:
  bool take_event(std::string_view data, Nanoseconds now);
  bool take_chunk(const Chunk& chunk, Nanoseconds now);
  bool count(const Chunk& chunk, Nanoseconds now);
  bool goes_on_without_end() const;
  bool is_too_large() const;
  void spread();
  bool fail(std::string why);

  EventStream stream_;
  std::vector<Mark> marks_;
  std::vector<size_t> lengths_;  // length of the text of each mark
  TokenCounts counts_;
  std::string text_;
  std::map<std::string, double> timings_;
  int64_t limit_ = 0;
  int64_t counted_ = 0;      // by the server, in the chunks so far
  int64_t assigned_ = 0;     // to marks
  int counting_chunks_ = 0;  // chunks with text in which it counted
  bool done_ = false, stopped_ = false, any_event_ = false;
  std::string request_error_;
};

}  // namespace deepgap
