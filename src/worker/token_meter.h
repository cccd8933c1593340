// TokenMeter: a Target that passes everything on and keeps what each query generated: its deliveries of tokens and their counts. Of
// queries that generate nothing it keeps nothing.
#pragma once

#include "record/token_series.h"
#include "scenario/forwarding_target.h"

#include <deepgap/record.h>

#include <cstddef>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace deepgap {

class TokenMeter final : public ForwardingTarget {
 public:
  static constexpr size_t default_limit = 20'000'000;
  // `target` outlives it. Queries are kept until their deliveries are `limit`, which bounds memory.
  explicit TokenMeter(Target& target, size_t limit = default_limit) : ForwardingTarget(target), limit_(limit) {}
  void on_completion(TargetCompletion completion) override;

  // Returns the streams of those `timings` whose query was kept, in their order.
  std::vector<TokenStream> streams(std::span<const Timing> timings) const;
  void restart();  // forgets what came before

 private:
  void add(const Completed& completed);

  size_t limit_;
  mutable std::mutex mutex_;
  size_t deliveries_ = 0;
  std::unordered_map<uint64_t, TokenStream> kept_;  // by the number of the query
};

}  // namespace deepgap
