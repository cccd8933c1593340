#include "mlperf/loadgen/outstanding.h"

#include "scenario/failed_query.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

// Pieces in the Target at a time: enough for any device, and little memory where a Target takes as many as it is given.
constexpr int64_t most_pieces = 4096;

}  // namespace

LoadgenOutstanding::LoadgenOutstanding(Target& target, Clock& clock, LoadgenAnswer answer, bool keeps_tokens, Finish finish)
    : target_(target), limits_(target.limits()), answer_(std::move(answer)), keeps_tokens_(keeps_tokens), finish_(std::move(finish)) {
  pieces_.resize(static_cast<size_t>(std::clamp<int64_t>(limits_.max_in_flight, 1, most_pieces)));
  for (size_t i = pieces_.size(); i-- > 0;) free_.push_back(static_cast<uint32_t>(i));
  target_.on_completion([this, queue = queue_, &clock](std::span<const Completed> completed) {
    const Nanoseconds end = clock.now();
    if (answer_) {
      for (const Completed& c : completed) keep_answers(c);
    }
    if (keeps_tokens_) {
      for (const Completed& c : completed) keep_tokens(c);
    }
    queue->push(completed, end);
    clock.notify();
  });
}

LoadgenOutstanding::~LoadgenOutstanding() { target_.on_completion({}); }

// Runs on the Target's thread, for a piece that is in flight: the driving thread does not touch it. Empty for what is not in flight.
LoadgenOutstanding::Piece* LoadgenOutstanding::piece_of(const Completed& completed) {
  if (completed.status != Status::ok || completed.query >= pieces_.size()) return nullptr;
  Piece& piece = pieces_[completed.query];
  return piece.query == nullptr || completed.first + completed.count > piece.count ? nullptr : &piece;
}

void LoadgenOutstanding::keep_answers(const Completed& completed) {
  Piece* piece = piece_of(completed);
  if (piece == nullptr || piece->query->logged.empty()) return;
  for (uint32_t i = 0; i < completed.count; ++i) {
    const uint32_t at = completed.first + i;
    if (piece->query->logged[piece->first + at]) piece->answers[at] = answer_(completed.outputs, completed.row + i);
  }
}

void LoadgenOutstanding::keep_tokens(const Completed& completed) {
  Piece* piece = piece_of(completed);
  if (piece == nullptr) return;
  LoadgenTokens tokens;
  const auto first = std::ranges::find_if(completed.marks, [](const Mark& mark) {
    return mark.clock == 0 && (mark.id == MarkId::tokens || mark.id == MarkId::reasoning_tokens);
  });
  if (first != completed.marks.end()) tokens.first = first->ns;
  if (completed.tokens != nullptr) tokens.count = std::max<int64_t>(0, completed.tokens->output);
  for (uint32_t i = 0; i < completed.count; ++i) piece->tokens[completed.first + i] = tokens;
}

void LoadgenOutstanding::add(LoadgenIssuedQuery query) {
  query.remaining = query.query.samples;
  queries_.push_back(std::move(query));
  unsent_.push_back(&queries_.back());
  ++unfinished_;
}

bool LoadgenOutstanding::take_piece() {
  if (unsent_.empty() || free_.empty()) return false;
  LoadgenIssuedQuery& query = *unsent_.front();
  const int64_t count = std::min(query.query.samples - query.sent, limits_.max_samples);
  const uint32_t id = free_.back();
  free_.pop_back();
  Piece& piece = pieces_[id];
  piece.query = &query;
  piece.first = static_cast<uint32_t>(query.sent);
  piece.count = piece.remaining = static_cast<uint32_t>(count);
  if (!query.logged.empty()) piece.answers.assign(piece.count, {});
  if (keeps_tokens_) piece.tokens.assign(piece.count, {});
  submitting_.push_back({id, query.scheduled, std::span<const uint32_t>(query.indices).subspan(piece.first, piece.count)});
  query.sent += count;
  if (query.sent == query.query.samples) unsent_.pop_front();
  return true;
}

void LoadgenOutstanding::send() {
  submitting_.clear();
  while (take_piece()) {
  }
  if (!submitting_.empty()) target_.submit(submitting_);
}

bool LoadgenOutstanding::collect() {
  const auto entries = queue_->take();
  for (const CompletionQueue::Entry& entry : entries) finish(entry);
  while (!queries_.empty() && queries_.front().remaining == 0) queries_.pop_front();
  return !entries.empty();
}

void LoadgenOutstanding::finish(const CompletionQueue::Entry& entry) {
  Piece* piece = entry.query < pieces_.size() ? &pieces_[entry.query] : nullptr;
  if (piece == nullptr || piece->query == nullptr || entry.count > piece->remaining || entry.first + entry.count > piece->count) {
    throw Error(ErrorKind::internal, fmt::format("the target completed samples of query {} that are not in flight", entry.query));
  }
  LoadgenIssuedQuery& query = *piece->query;
  if (entry.status != Status::ok) end_on_failure(target_, query.query.sequence);
  query.done = std::max(query.done, entry.end);
  for (uint32_t i = 0; i < entry.count; ++i) {
    const size_t at = entry.first + i;
    if (--query.remaining == 0) --unfinished_;
    const std::string_view answer = query.logged.empty() ? std::string_view() : std::string_view(piece->answers[at]);
    finish_(query, piece->first + at, entry.end, answer, keeps_tokens_ ? piece->tokens[at] : LoadgenTokens{});
  }
  piece->remaining -= entry.count;
  if (piece->remaining > 0) return;
  piece->query = nullptr;
  free_.push_back(entry.query);
}

void LoadgenOutstanding::cancel() { target_.cancel(); }

}  // namespace deepgap
