#include "backends/onnxruntime/ort_session.h"

#include "backends/common/quantized_file.h"
#include "backends/onnxruntime/ort_failure.h"
#include "backends/onnxruntime/ort_profile.h"
#include "backends/onnxruntime/ort_slot.h"
#include "base/text.h"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <new>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

class OrtSessionRunner final : public Session {
 public:
  OrtSessionRunner(const Model& model, const LoadOptions& options, const OrtSettings& settings)
      : model_(model),
        options_(options),
        settings_(settings),
        network_(open_ort_network(model, options, settings)),
        staging_("onnxruntime", network_.inputs) {
    for (int i = 0; i < options.slots; ++i) {
      OrtSlot& slot = slots_.emplace_back(network_);
      for (const int64_t batch : options.batch_sizes) slot.bind(batch);
      buffer_bytes_ += slot.buffer_bytes();
    }
  }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override { staging_.stage(inputs); }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    OrtSlot& slot = slots_.at(static_cast<size_t>(index));
    const auto batch = static_cast<int64_t>(samples.size());
    const Clock& clock = *options_.clock;
    std::array<Mark, 3> marks{};
    std::optional<Error> error;
    try {
      marks[0] = {MarkId::h2d_begin, 0, clock.now()};
      slot.gather(staging_, samples);
      marks[1] = {MarkId::compute_begin, 0, clock.now()};
      slot.run(batch);
      marks[2] = {MarkId::compute_end, 0, clock.now()};
      slot.show(batch);
    } catch (const OrtFailure& failure) {
      error = run_error(failure);
    } catch (const Error& own) {
      error = own;
    }
    const Done done = error ? Done{tag, Status::failed, {}, &*error} : Done{.tag = tag, .marks = marks};
    options_.completion(std::span(&done, 1));
  }

  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot)).outputs(); }
  void drain() override {}   // nothing is ever pending
  void cancel() override {}  // likewise
  MemoryUse memory() const override;

  std::vector<LayerTiming> layer_timings() override {
    std::vector<LayerTiming> timings;
    for (const OrtNodeRun& node : profile()) timings.push_back({node.name, node.op, node.ns});
    return timings;
  }

  // The CPU provider computes what is not quantized in the file's own FP32. Others do not report this.
  PrecisionShares precision_shares() override {
    if (ort_provider(settings_, options_.placement.devices.front()) != OrtProvider::cpu) return {};
    if (options_.precision == Precision::fp32 && !computes_integers(model_.summary())) return {{"fp32", 1.0}};
    return ort_precision_shares(profile(), model_);
  }

 private:
  std::vector<OrtNodeRun> profile() const { return profile_ort_network(model_, options_, settings_); }

  const Model& model_;
  LoadOptions options_;
  OrtSettings settings_;
  OrtNetwork network_;
  Staging staging_;
  std::deque<OrtSlot> slots_;  // after network_: its values go first
  int64_t buffer_bytes_ = 0;
};

// Returns the library's arena, including weights and this Session's buffers. Its peak is since load: the arena cannot forget it.
MemoryUse OrtSessionRunner::memory() const {
  try {
    OrtAllocator* raw = nullptr;
    OrtKeyValuePairs* pairs = nullptr;
    ort().call(ort_create_allocator, network_.session.get(), network_.host_memory.get(), &raw);
    const OrtAllocatorHandle allocator(raw);
    ort().call(ort_allocator_stats, raw, &pairs);
    const OrtKeyValuesHandle stats(pairs);
    const auto bytes = [&](const char* key) -> int64_t {
      const char* text = ort().raw(ort_get_key_value, pairs, key);
      const auto value = text == nullptr ? std::nullopt : parse_int(text);
      return value ? *value + buffer_bytes_ : -1;
    };
    return {bytes("TotalAllocated"), bytes("InUse"), bytes("MaxInUse")};
  } catch (const OrtFailure&) {  // an arena without statistics: not known
    return {};
  }
}

}  // namespace

std::unique_ptr<Session> make_ort_session(const Model& model, const LoadOptions& options, const OrtSettings& settings) {
  try {
    return std::make_unique<OrtSessionRunner>(model, options, settings);
  } catch (const OrtFailure& failure) {
    throw load_error(failure, model.graph());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("onnxruntime: no memory for the buffers of {}", model.name()));
  }
}

}  // namespace deepgap
