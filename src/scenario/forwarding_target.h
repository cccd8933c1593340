// ForwardingTarget: a Target around another that passes everything on; what it is to see, a derived one overrides. The other one outlives
// it.
#pragma once

#include <deepgap/target.h>

#include <utility>

namespace deepgap {

class ForwardingTarget : public Target {
 public:
  explicit ForwardingTarget(Target& target) : target_(target) {}
  TargetLimits limits() const override { return target_.limits(); }
  void on_completion(TargetCompletion completion) override { target_.on_completion(std::move(completion)); }
  void load(std::span<const uint32_t> indices) override { target_.load(indices); }
  void unload(std::span<const uint32_t> indices) override { target_.unload(indices); }
  void submit(std::span<const Query> queries) override { target_.submit(queries); }
  bool outlive_failures(bool on) override { return target_.outlive_failures(on); }
  void flush() override { target_.flush(); }
  void cancel() override { target_.cancel(); }

 protected:
  // Completions go to `seen` first, then on.
  template <typename Seen>
  void watch(TargetCompletion completion, Seen seen) {
    if (!completion) return target_.on_completion({});
    target_.on_completion([seen = std::move(seen), completion = std::move(completion)](std::span<const Completed> completed) {
      seen(completed);
      completion(completed);
    });
  }
  Target& target() { return target_; }

 private:
  Target& target_;
};

}  // namespace deepgap
