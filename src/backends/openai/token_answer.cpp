#include "backends/openai/token_answer.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace deepgap {

void TokenAnswer::begin(int64_t limit) {
  *this = TokenAnswer();
  limit_ = limit;
}

// Returns whether the server ignores the request's limit. Some send one token in a few chunks, and are not stopped for those.
bool TokenAnswer::goes_on_without_end() const {
  constexpr int64_t tolerated = 64;
  return limit_ > 0 && assigned_ > 4 * limit_ + tolerated;
}

// A stream has as many events as it wants, each of up to 16 MB.
bool TokenAnswer::is_too_large() const {
  constexpr size_t most = 64'000'000;
  return text_.size() > most;
}

bool TokenAnswer::fail(std::string why) {
  if (request_error_.empty()) request_error_ = std::move(why);
  return false;
}

bool TokenAnswer::take(std::string_view piece, Nanoseconds now) {
  const bool goes_on = stream_.feed(piece, [&](std::string_view data) { return take_event(data, now); });
  if (!stream_.request_error().empty()) return fail(stream_.request_error());
  return goes_on;
}

// The text after [DONE] is read off the connection and does not count.
bool TokenAnswer::take_event(std::string_view data, Nanoseconds now) {
  any_event_ = true;
  if (done_) return true;
  if (trim(data) == "[DONE]") {
    done_ = true;
    return true;
  }
  return take_chunk(read_chunk(data), now);
}

bool TokenAnswer::take_chunk(const Chunk& chunk, Nanoseconds now) {
  if (!chunk.request_error.empty()) return fail(chunk.request_error);
  if (chunk.stop) {
    counts_.stop = *chunk.stop;
    stopped_ = true;
  }
  if (chunk.input) counts_.input = *chunk.input;
  if (chunk.cached) counts_.cached = *chunk.cached;
  for (const auto& [name, value] : chunk.timings) timings_[name] = value;
  return count(chunk, now);
}

bool TokenAnswer::count(const Chunk& chunk, Nanoseconds now) {
  if (chunk.output) {
    if (*chunk.output < counted_) return fail(fmt::format("the server's count of tokens went back from {} to {}", counted_, *chunk.output));
  }
  if (chunk.output) counts_.output = counted_ = *chunk.output;
  const std::string& text = chunk.text.empty() ? chunk.reasoning : chunk.text;
  if (text.empty()) return true;  // the first chunk has a role alone, the last one usage
  ++counts_.chunks;
  text_ += text;
  if (is_too_large()) return fail("the answer is larger than 64 MB");
  // Tokens that were counted in chunks without text, as the first bytes of a letter are, come with the next text.
  const bool counts_here = chunk.output && counted_ > assigned_;
  const int64_t tokens = counts_here ? std::min<int64_t>(counted_ - assigned_, UINT32_MAX) : 1;
  counting_chunks_ += counts_here ? 1 : 0;
  assigned_ += tokens;
  const MarkId id = chunk.text.empty() ? MarkId::reasoning_tokens : MarkId::tokens;
  marks_.push_back({id, 0, now, static_cast<uint32_t>(tokens)});
  lengths_.push_back(text.size());
  if (goes_on_without_end()) return fail(fmt::format("the stream goes on after {} tokens; deepgap requested {}", assigned_, limit_));
  return true;
}

std::string TokenAnswer::finish(Nanoseconds now) {
  if (request_error_.empty()) stream_.finish([&](std::string_view data) { return take_event(data, now); });
  if (request_error_.empty() && !stream_.request_error().empty()) request_error_ = stream_.request_error();
  if (!request_error_.empty()) return request_error_;
  if (!any_event_) return "the stream was empty";
  if (!done_ && !stopped_) return fmt::format("the stream ended after {} chunks without [DONE] or a finish_reason", counts_.chunks);
  spread();
  return {};
}

// Where the server counted in (nearly) each chunk, the marks have its counts. A last token that ends the text and has none itself is left.
void TokenAnswer::spread() {
  const auto chunks = static_cast<int64_t>(marks_.size());
  if (chunks == 0 || counting_chunks_ * 2 > chunks || counts_.output <= chunks + 1) return;
  const auto letters = static_cast<double>(std::accumulate(lengths_.begin(), lengths_.end(), size_t{0}));
  const int64_t more = counts_.output - chunks;  // each chunk has one at least
  double before = 0;
  int64_t given = 0;
  for (size_t i = 0; i < marks_.size(); ++i) {
    before += static_cast<double>(lengths_[i]);
    const auto upto = std::llround(static_cast<double>(more) * before / letters);
    marks_[i].count = static_cast<uint32_t>(1 + upto - given);
    given = upto;
  }
  counts_.split = true;
}

}  // namespace deepgap
