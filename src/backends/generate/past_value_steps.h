// The steps of an ONNX decoder with past key values, for an engine whose tensors are `Value`s: each step is a run for one sequence. The
// keys and values that a run gives are the next one's input as they are; the file's own nodes make them longer.
#pragma once

#include "model/decoder/decoder_steps.h"
#include "model/decoder/onnx_decoder.h"
#include "model/eval/half.h"

#include <deepgap/error.h>
#include <deepgap/tensor.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

template <typename Value>
class PastValueSteps : public DecoderSteps {
 public:
  // `type_shares` is what type_shares() returns.
  PastValueSteps(std::string engine, OnnxDecoder decoder, int64_t weight_bytes, std::map<std::string, double> type_shares)
      : decoder_(std::move(decoder)), engine_(std::move(engine)), weight_bytes_(weight_bytes), type_shares_(std::move(type_shares)) {
    input_names_ = {"input_ids"};
    if (decoder_.has_mask) input_names_.emplace_back("attention_mask");
    if (decoder_.has_positions) input_names_.emplace_back("position_ids");
    if (decoder_.kept_scores) input_names_.emplace_back("num_logits_to_keep");
    if (decoder_.cache_branch) input_names_.emplace_back("use_cache_branch");
    for (const CachePort& port : decoder_.caches) input_names_.push_back(port.past);
  }

  int64_t most_rows() const override { return context_; }  // a prompt is one run
  int64_t most_scores() const override { return last_alone_ ? 1 : context_; }
  bool joins_sequences() const override { return false; }
  void make_cache(int64_t sequences, int64_t context) override {
    context_ = context;
    sequences_.clear();
    sequences_.resize(static_cast<size_t>(sequences));
  }
  // Memory of full caches: the engine takes it as they grow.
  int64_t cache_bytes() const override { return static_cast<int64_t>(sequences_.size()) * context_ * decoder_.cache_bytes_per_token(); }
  int64_t cache_context() const override { return context_; }
  int64_t weight_bytes() const override { return weight_bytes_; }
  std::map<std::string, double> type_shares() const override { return type_shares_; }

  void run(std::span<const DecoderRow> rows) override {
    Sequence& sequence = sequences_.at(static_cast<size_t>(rows.front().sequence));
    if (rows.front().position == 0) clear(sequence);
    if (rows.front().position != sequence.length || rows.back().sequence != rows.front().sequence)
      throw Error(ErrorKind::internal, engine_ + ": a step is not of the tokens that follow those in the cache");
    scores_.clear();
    step(sequence, rows);
    read_scores(rows);
  }
  std::span<const float> scores(size_t n) override { return scores_.at(n); }
  int64_t best_token(size_t n) override { return std::max_element(scores_.at(n).begin(), scores_.at(n).end()) - scores_[n].begin(); }

 protected:
  const std::vector<std::string>& input_names() const { return input_names_; }
  const OnnxDecoder& decoder() const { return decoder_; }
  // A tensor over bytes that live at least as long.
  virtual Value value_over(const void* data, DataType type, const Shape& shape) = 0;
  // Takes inputs in the order of input_names(), and returns the scores and then the keys and values of decoder().caches, `length` tokens of
  // each if the file is as it should be. Throws Error.
  virtual std::vector<Value> compute(std::span<Value* const> inputs, int64_t length) = 0;
  // Its content; `shape` gets its sizes. Throws Error{input} naming the output if it has another type.
  virtual TensorView content(Value& value, const std::string& output, DataType type, Shape& shape) = 0;

 private:
  struct Sequence {
    int64_t length = 0;        // tokens in the cache
    std::vector<Value> cache;  // beside decoder_.caches
  };

  [[noreturn]] void refuse_output(const std::string& name, const Shape& found, const std::string& wanted) const {
    throw Error(ErrorKind::input,
                fmt::format("{}: output '{}' has the shape [{}], expected [{}]", engine_, name, fmt::join(found, ", "), wanted));
  }

  void clear(Sequence& sequence) {
    static const int64_t nothing = 0;  // an address for tensors of no element
    sequence.length = 0;
    sequence.cache.clear();
    for (const CachePort& port : decoder_.caches) sequence.cache.push_back(value_over(&nothing, port.type, {1, port.heads, 0, port.size}));
  }

  // An export may give the keys of the new tokens alone, or drop old ones: its answers would be others.
  void step(Sequence& sequence, std::span<const DecoderRow> rows) {
    const auto count = static_cast<int64_t>(rows.size());
    const int64_t length = sequence.length + count;
    tokens_.clear();
    places_.clear();
    for (const DecoderRow& row : rows) {
      tokens_.push_back(row.token);
      places_.push_back(row.position);
    }
    mask_.assign(static_cast<size_t>(length), 1);
    std::vector<Value> own;
    own.push_back(value_over(tokens_.data(), DataType::i64, {1, count}));
    if (decoder_.has_mask) own.push_back(value_over(mask_.data(), DataType::i64, {1, length}));
    if (decoder_.has_positions) own.push_back(value_over(places_.data(), DataType::i64, {1, count}));
    static const int64_t last = 1;
    static const bool yes = true;
    if (decoder_.kept_scores) own.push_back(value_over(&last, DataType::i64, *decoder_.kept_scores));
    if (decoder_.cache_branch) own.push_back(value_over(&yes, DataType::boolean, *decoder_.cache_branch));
    std::vector<Value*> inputs;
    for (Value& value : own) inputs.push_back(&value);
    for (Value& value : sequence.cache) inputs.push_back(&value);
    outputs_ = compute(inputs, length);
    Shape shape;
    for (size_t i = 0; i < decoder_.caches.size(); ++i) {
      const CachePort& port = decoder_.caches[i];
      content(outputs_[i + 1], port.present, port.type, shape);
      if (shape != Shape{1, port.heads, length, port.size})
        refuse_output(port.present, shape, fmt::format("1, {}, {}, {}", port.heads, length, port.size));
    }
    sequence.length = length;
    for (size_t i = 0; i < decoder_.caches.size(); ++i) sequence.cache[i] = std::move(outputs_[i + 1]);
    outputs_.resize(1);
  }

  // Some exports give the scores of the last token alone.
  void read_scores(std::span<const DecoderRow> rows) {
    Shape shape;
    const TensorView logits = content(outputs_.front(), "logits", decoder_.score_type, shape);
    const auto count = static_cast<int64_t>(rows.size());
    const bool last_alone = shape.size() == 3 && shape[1] == 1;
    if (count > 1) last_alone_ = last_alone;
    if (shape.size() != 3 || shape[0] != 1 || (shape[1] != count && !last_alone) || shape[2] != decoder_.vocabulary)
      refuse_output("logits", shape, fmt::format("1, {}, {}", count, decoder_.vocabulary));
    const auto width = static_cast<size_t>(decoder_.vocabulary);
    const auto first = static_cast<size_t>(last_alone ? count - 1 : 0);
    const bool halves = decoder_.score_type == DataType::f16;
    converted_.resize(halves ? rows.size() * width : 0);
    for (size_t i = first; i < rows.size(); ++i) {
      if (!rows[i].wants_scores) continue;
      const size_t begin = (i - first) * width;
      if (halves) {
        const auto own = logits.as<Half>().subspan(begin, width);
        std::transform(own.begin(), own.end(), converted_.begin() + static_cast<std::ptrdiff_t>(begin),
                       [](Half value) { return to_float(value); });
      }
      scores_.push_back((halves ? std::span<const float>(converted_) : logits.as<float>()).subspan(begin, width));
    }
  }

  const OnnxDecoder decoder_;
  const std::string engine_;
  const int64_t weight_bytes_;
  const std::map<std::string, double> type_shares_;
  std::vector<std::string> input_names_;
  int64_t context_ = 0;
  bool last_alone_ = false;  // scores are those of a run's last token
  std::vector<Sequence> sequences_;
  std::vector<int64_t> tokens_, places_, mask_;  // inputs of a run
  std::vector<Value> outputs_;                   // scores of the last run
  std::vector<std::span<const float>> scores_;   // spans of those that the rows want
  std::vector<float> converted_;                 // where the scores are not floats
};

}  // namespace deepgap
