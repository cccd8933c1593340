// Holds what drive_loadgen has issued and not finished: queries with their times, and the pieces of them that are in the Target.
#pragma once

#include "mlperf/loadgen/drive.h"
#include "scenario/completion_queue.h"

#include <deque>
#include <memory>

namespace deepgap {

struct LoadgenIssuedQuery {
  LoadgenQuery query;
  uint64_t first_sample = 0;      // its sequence number
  std::vector<uint32_t> indices;  // indices into the library
  std::vector<bool> logged;       // into the accuracy log; empty: none of them
  Nanoseconds scheduled = 0, issued = 0, done = 0;
  int64_t sent = 0, remaining = 0;  // samples
};

// What a Target says of a sample's tokens.
struct LoadgenTokens {
  Nanoseconds first = 0;  // when the first was delivered; 0: it is not known
  int64_t count = 0;
};

// The driving thread's, but for the Target's completions. One phase.
class LoadgenOutstanding {
 public:
  // Called for each sample that is finished, `at` in its query; query.remaining is 0 with the last one.
  using Finish =
      std::function<void(const LoadgenIssuedQuery& query, size_t at, Nanoseconds done, std::string_view answer, LoadgenTokens tokens)>;

  LoadgenOutstanding(Target& target, Clock& clock, LoadgenAnswer answer, bool keeps_tokens, Finish finish);
  ~LoadgenOutstanding();
  LoadgenOutstanding(const LoadgenOutstanding&) = delete;
  LoadgenOutstanding& operator=(const LoadgenOutstanding&) = delete;

  void add(LoadgenIssuedQuery query);
  void send();     // submits what has room, in one call
  bool collect();  // false: nothing had completed. Throws Error{internal}
  void cancel();   // gives up what is in the Target
  int64_t queries() const { return unfinished_; }

 private:
  struct Piece {
    LoadgenIssuedQuery* query = nullptr;
    uint32_t first = 0, count = 0, remaining = 0;
    std::vector<std::string> answers;
    std::vector<LoadgenTokens> tokens;
  };
  bool take_piece();
  Piece* piece_of(const Completed& completed);
  void keep_answers(const Completed& completed);
  void keep_tokens(const Completed& completed);
  void finish(const CompletionQueue::Entry& entry);

  Target& target_;
  TargetLimits limits_;
  LoadgenAnswer answer_;
  bool keeps_tokens_;
  Finish finish_;
  std::shared_ptr<CompletionQueue> queue_ = std::make_shared<CompletionQueue>();
  std::deque<LoadgenIssuedQuery> queries_;  // from the oldest unfinished one on
  std::deque<LoadgenIssuedQuery*> unsent_;
  int64_t unfinished_ = 0;
  std::vector<Piece> pieces_;  // by the Target's query id; never grows, since completions look at those in flight
  std::vector<uint32_t> free_;
  std::vector<Query> submitting_;
};

}  // namespace deepgap
