#include "scenario/failures.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds timeout = 30'000'000'000;
constexpr Nanoseconds pause_after = 10'000'000;
constexpr size_t most_reasons = 16;  // distinct reasons that are kept: a server may put anything into its message

}  // namespace

void Failures::add(Nanoseconds begin, Nanoseconds end, const std::string& why) {
  beat_();
  ++count_;
  if (failing_since_ == never) failing_since_ = begin;
  last_ = std::max(last_, end);
  pause_until_ = last_ + pause_after;
  const bool known = reasons_.contains(why) || reasons_.size() < most_reasons;
  ++reasons_[known ? why : "other reasons"];
}

void Failures::answered() {
  failing_since_ = never;
  pause_until_ = 0;
}

double Failures::share(int64_t answered) const {
  return count_ == 0 ? 0 : static_cast<double>(count_) / static_cast<double>(count_ + answered);
}

std::string Failures::text() const {
  std::vector<std::pair<std::string, int64_t>> sorted(reasons_.begin(), reasons_.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [why, count] : sorted) texts.push_back(fmt::format("{} x {}", count, why));
  return join(texts, "; ");
}

bool Failures::hopeless() const { return failing_since_ != never && last_ - failing_since_ >= timeout; }

}  // namespace deepgap
