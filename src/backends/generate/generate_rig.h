// For tests of what engines do with task generate: prompts, and a Session that remembers what it delivered.
#pragma once

#include "base/clocks.h"
#include "base/option_table.h"

#include <deepgap/backend.h>
#include <deepgap/generate.h>
#include <deepgap/tensor.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace deepgap {

// Prompts as a Dataset gives them.
class TestPrompts {
 public:
  void add(const std::string& text, int64_t limit, int64_t unique_at = -1, bool is_conversation = false) {
    Tensor prompt = make_tensor(DataType::u8, {1, static_cast<int64_t>(text.size())});
    std::copy(text.begin(), text.end(), writable<uint8_t>(prompt).begin());
    Tensor request = make_tensor(DataType::i64, {1, static_cast<int64_t>(prompt_fields)});
    writable<int64_t>(request)[0] = limit;
    writable<int64_t>(request)[1] = is_conversation ? 1 : 0;
    writable<int64_t>(request)[2] = unique_at;
    kept_.push_back(prompt);
    kept_.push_back(request);
  }
  std::vector<std::vector<TensorView>> views() const {
    std::vector<std::vector<TensorView>> all;
    for (size_t i = 0; i < kept_.size(); i += 2) all.push_back({kept_[i].view(), kept_[i + 1].view()});
    return all;
  }

 private:
  std::vector<Tensor> kept_;
};

class GenerateRig {
 public:
  GenerateRig() {
    options_.task = Task::generate;
    options_.threads = 2;
    options_.placement.devices = {DeviceId{"", "cpu", 0}};
    options_.clock = clock_.get();
    options_.completion = [this](std::span<const Done> all) {
      const std::lock_guard lock(mutex_);
      for (const Done& done : all) {
        ++completed_;
        if (done.error != nullptr) error_ = done.error->what();
        if (done.tokens != nullptr) counts_ = *done.tokens;
        marks_.assign(done.marks.begin(), done.marks.end());
      }
    };
  }
  // The Model outlives the Session.
  std::unique_ptr<Session> load(Backend& backend, const Model& model, const EngineOptions& options) {
    options_.options = options;
    return backend.load(model, options_);
  }
  static std::vector<int64_t> answer_in(const Session& session, int slot) {
    const auto tokens = session.outputs(slot)[0].as<int64_t>();
    return {tokens.begin(), tokens.end()};
  }
  static std::vector<int64_t> answer(Session& session, uint32_t sample, int slot = 0) {
    session.enqueue(slot, std::vector<uint32_t>{sample}, sample);
    session.drain();
    return answer_in(session, slot);
  }
  Support support(const Backend& backend, const Model& model, const EngineOptions& options) {
    options_.options = options;
    return backend.supports(options_, model.summary());
  }

 protected:
  const std::unique_ptr<Clock> clock_ = make_real_clock();
  LoadOptions options_;
  std::mutex mutex_;
  int completed_ = 0;
  std::string error_;
  TokenCounts counts_;
  std::vector<Mark> marks_;
};

}  // namespace deepgap
