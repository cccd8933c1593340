#include "backends/generate/generate_session.h"

#include "backends/common/failure.h"
#include "backends/common/query_queue.h"
#include "backends/generate/answer_log.h"
#include "backends/generate/staged_prompt.h"
#include "model/decoder/score_tokens.h"
#include "model/decoder/tokenizer.h"

#include <deepgap/error.h>
#include <deepgap/generate.h>
#include <deepgap/token_scorer.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace deepgap {
namespace {

using Tokens = std::vector<int64_t>;

std::unique_ptr<Tokenizer> tokenizer_for(const Generator& generator) {
  if (generator.settings.made_up_tokens || generator.tokenizer.model.empty()) return make_word_tokenizer(generator.vocabulary);
  return make_file_tokenizer(generator.tokenizer);
}

class GenerateSession final : public Session, public TokenScorer {
 public:
  GenerateSession(const Model& model, const LoadOptions& options, Generator generator)
      : name_(model.name()),
        generator_(std::move(generator)),
        completion_(options.completion),
        clock_(options.clock),
        unique_seed_(options.generate.unique_seed),
        queries_(static_cast<size_t>(std::max(options.slots, generator_.streams))),
        tokenizer_(tokenizer_for(generator_)),
        answers_(generator_.settings.answers),
        queue_(static_cast<int>(queries_.size())) {
    const auto scope = thread_scope(false);
    steps_ = generator_.make_steps();
    thread_.emplace([this] { serve(); });
  }

  ~GenerateSession() override {
    GenerateSession::cancel();
    queue_.close();
  }

  int slots() const override { return static_cast<int>(queries_.size()); }

  void stage(std::span<const std::vector<TensorView>> samples) override {
    drain();
    prompts_.clear();
    int64_t longest = 1;
    for (const auto& sample : samples) {
      StagedPrompt& prompt = prompts_.emplace_back(staged_prompt(sample, generator_.tokenizer));
      const Tokens tokens = tokenizer_->encode(prompt.text(unique_seed_, 0));
      longest = std::max(longest, require_room(prompt, tokens));
      if (!prompt.is_unique) prompt.tokens = tokens;
    }
    // Unique texts may take some tokens more or less.
    constexpr int64_t reserve = 8;
    const auto scope = thread_scope(false);
    steps_->enter();
    steps_->make_cache(slots(), std::min(longest + reserve, generator_.context));
  }

  void enqueue(int slot, std::span<const uint32_t> samples, uint64_t tag) override {
    Query& query = queries_[static_cast<size_t>(slot)];
    query.tag = tag;
    query.sample = samples.front();
    query.number = next_number_++;
    query.enqueued = now();
    queue_.push(slot);
  }

  std::span<const TensorView> outputs(int slot) const override {
    const Query& query = queries_[static_cast<size_t>(slot)];
    query.shape = {1, static_cast<int64_t>(query.answer.size())};
    query.output = {DataType::i64, query.shape, reinterpret_cast<const std::byte*>(query.answer.data())};
    return {&query.output, 1};
  }

  void drain() override { queue_.drain(); }
  void cancel() override {
    queue_.withdraw([this](int slot) { deliver({.tag = queries_[static_cast<size_t>(slot)].tag, .status = Status::cancelled}); });
    drain();
  }

  MemoryUse memory() const override {
    const int64_t bytes = steps_->weight_bytes() + steps_->cache_bytes();
    return {bytes, bytes, bytes};
  }
  PrecisionShares precision_shares() override { return steps_->type_shares(); }

  Tokens encode(std::string_view text) const override { return tokenizer_->encode(text); }
  int64_t context() const override { return generator_.context; }
  void score(std::span<const int64_t> tokens, size_t first, const ScoresReceiver& receive) override {
    drain();
    const auto scope = thread_scope(false);
    steps_->enter();
    score_tokens(*steps_, tokens, first, receive);
  }

  std::map<std::string, double> take_counts() override {
    const std::lock_guard lock(mutex_);
    answers_.write(*tokenizer_);
    std::map<std::string, double> counts{{"kv_cache_bytes", static_cast<double>(steps_->cache_bytes())},
                                         {"weight_bytes", static_cast<double>(steps_->weight_bytes())}};
    const Work work = std::exchange(work_, {});
    counts["prefill.tokens"] = static_cast<double>(work.prefill_tokens);
    counts["prefill.ms"] = static_cast<double>(work.prefill) / 1e6;
    counts["decode.tokens"] = static_cast<double>(work.decode_tokens);
    counts["decode.ms"] = static_cast<double>(work.decode) / 1e6;
    counts["decode.steps"] = static_cast<double>(work.decode_steps);
    counts["mixed.steps"] = static_cast<double>(work.mixed_steps);
    return counts;
  }

 private:
  struct Query {
    uint64_t tag = 0, number = 0;
    uint32_t sample = 0;
    Nanoseconds enqueued = 0;
    Tokens answer;
    mutable Shape shape;  // shape of `output`, which outputs() makes
    mutable TensorView output;
  };

  // A query that is computed: the slot is its sequence in the cache.
  struct Active {
    int slot = 0;
    Tokens prompt;
    int64_t output_limit = 0;
    int64_t computed = 0;  // tokens whose keys and values are in the cache
    std::optional<Sampler> sampler;
    std::vector<Mark> marks;
    Nanoseconds begin = 0;
  };

  // The work of a window's steps. A step with tokens of prompts and of answers counts for neither.
  struct Work {
    int64_t prefill_tokens = 0, decode_tokens = 0, decode_steps = 0, mixed_steps = 0;
    Nanoseconds prefill = 0, decode = 0;
  };

  std::shared_ptr<void> thread_scope(bool serves) const { return generator_.thread_scope ? generator_.thread_scope(serves) : nullptr; }
  Error refusal(const std::string& reason) const { return {ErrorKind::refused, generator_.engine + ": " + reason}; }

  // Returns the tokens of the prompt and of its answer.
  int64_t require_room(const StagedPrompt& prompt, const Tokens& tokens) const {
    if (tokens.empty()) throw refusal("a prompt has no token: give one that is not empty");
    const int64_t needed = static_cast<int64_t>(tokens.size()) + std::max<int64_t>(prompt.output_limit, 1);
    if (needed > generator_.context)
      throw refusal(
          fmt::format("a prompt of {} tokens and an answer of {} do not fit the context of {}, which has {} tokens: lower "
                      "--prompt-tokens or --output-tokens",
                      tokens.size(), prompt.output_limit, name_, generator_.context));
    return needed;
  }

  // The thread's life.
  void serve() {
    const auto scope = thread_scope(true);
    steps_->enter();
    std::vector<Active> active;
    while (true) {
      if (active.empty()) {
        const auto slot = queue_.take();  // waits
        if (!slot) return;
        begin(*slot, active);
      }
      while (const auto slot = queue_.take_if_any()) begin(*slot, active);
      if (!active.empty()) step(active);
    }
  }

  void begin(int slot, std::vector<Active>& active) {
    Query& query = queries_[static_cast<size_t>(slot)];
    query.answer.clear();
    Active one;
    one.slot = slot;
    one.begin = now();
    try {
      const StagedPrompt& prompt = prompts_.at(query.sample);
      one.prompt = prompt.is_unique ? tokenizer_->encode(prompt.text(unique_seed_, query.number)) : prompt.tokens;
      one.output_limit = std::max<int64_t>(prompt.output_limit, 1);
      one.sampler.emplace(generator_.settings.sampling, query.number);
      const int64_t needed = static_cast<int64_t>(one.prompt.size()) + one.output_limit;
      if (needed > steps_->cache_context())
        throw refusal(fmt::format("a prompt of {} tokens and an answer of {} do not fit the cache of {} tokens", one.prompt.size(),
                                  one.output_limit, steps_->cache_context()));
      active.push_back(std::move(one));
    } catch (const std::exception& failure) {
      fail(one, failure);
    }
  }

  bool is_answering(const Active& one) const { return one.computed >= static_cast<int64_t>(one.prompt.size()); }

  // The tokens that a step computes: one of each answer, and of prompts as many as there is room for. `asked`: whose scores they make, in
  // their order.
  std::vector<DecoderRow> rows_of(std::span<const Active> active, std::vector<size_t>& asked, Work& work) const {
    std::vector<DecoderRow> rows;
    const auto room = [&] { return steps_->most_rows() - static_cast<int64_t>(rows.size()); };
    for (size_t i = 0; i < active.size() && room() > 0; ++i) {
      if (!is_answering(active[i])) continue;
      rows.push_back({active[i].slot, active[i].computed, queries_[static_cast<size_t>(active[i].slot)].answer.back(), true});
      asked.push_back(i);
      ++work.decode_tokens;
    }
    for (size_t i = 0; i < active.size() && room() > 0; ++i) {
      const Active& one = active[i];
      if (is_answering(one)) continue;
      const auto length = static_cast<int64_t>(one.prompt.size());
      const int64_t end = one.computed + std::min(length - one.computed, room());
      work.prefill_tokens += end - one.computed;
      for (int64_t p = one.computed; p < end; ++p) rows.push_back({one.slot, p, one.prompt[static_cast<size_t>(p)], p + 1 == length});
      if (end == length) asked.push_back(i);
    }
    return rows;
  }

  void step(std::vector<Active>& active) {
    const size_t most = steps_->joins_sequences() ? static_cast<size_t>(steps_->most_rows()) : 1;
    Work work;
    std::vector<size_t> asked;
    const Nanoseconds begun = now();
    try {
      const std::vector<DecoderRow> rows = rows_of(std::span(active).first(steps_->joins_sequences() ? active.size() : 1), asked, work);
      steps_->run(rows);
      for (const DecoderRow& row : rows) computed(active, row);
      for (size_t n = 0; n < asked.size(); ++n) take_token(active[asked[n]], n);
    } catch (const std::exception& failure) {
      for (Active& one : active) fail(one, failure);
      return active.clear();
    }
    count(work, now() - begun);
    // More answers than a step has rows take turns.
    if (active.size() > most) std::rotate(active.begin(), active.begin() + static_cast<std::ptrdiff_t>(most), active.end());
    std::erase_if(active, [this](Active& one) {
      const bool done = is_finished(one);
      if (done) finish(one);
      return done;
    });
  }

  void computed(std::vector<Active>& active, const DecoderRow& row) const {
    const auto found = std::find_if(active.begin(), active.end(), [&](const Active& one) { return one.slot == row.sequence; });
    found->computed = row.position + 1;
  }

  // `n`: its scores' place among those of the step.
  void take_token(Active& one, size_t n) {
    const int64_t token = one.sampler->greedy() ? steps_->best_token(n) : one.sampler->choose(steps_->scores(n));
    queries_[static_cast<size_t>(one.slot)].answer.push_back(token);
    one.marks.push_back({MarkId::tokens, 0, now(), 1});
  }

  void count(const Work& work, Nanoseconds time) {
    const std::lock_guard lock(mutex_);
    if (work.prefill_tokens > 0 && work.decode_tokens > 0) {
      ++work_.mixed_steps;
    } else if (work.prefill_tokens > 0) {
      work_.prefill_tokens += work.prefill_tokens;
      work_.prefill += time;
    } else {
      work_.decode_tokens += work.decode_tokens;
      work_.decode += time;
      ++work_.decode_steps;
    }
  }

  bool ends(const Active& one) const {
    return !generator_.settings.ignore_end && generator_.tokenizer.end >= 0 &&
           queries_[static_cast<size_t>(one.slot)].answer.back() == generator_.tokenizer.end;
  }
  bool is_finished(const Active& one) const {
    const auto given = static_cast<int64_t>(queries_[static_cast<size_t>(one.slot)].answer.size());
    return given > 0 && (given >= one.output_limit || ends(one));
  }

  void finish(Active& one) {
    const Query& query = queries_[static_cast<size_t>(one.slot)];
    {
      const std::lock_guard lock(mutex_);
      answers_.add(one.prompt, query.answer);
    }
    const TokenCounts counts{.input = static_cast<int64_t>(one.prompt.size()),
                             .output = static_cast<int64_t>(query.answer.size()),
                             .cached = 0,
                             .chunks = static_cast<int64_t>(one.marks.size()),
                             .stop = ends(one) ? StopReason::finished : StopReason::limit};
    const Nanoseconds end = one.marks.back().ns;
    std::vector<Mark> marks{{MarkId::enqueued, 0, query.enqueued}, {MarkId::compute_begin, 0, one.begin}};
    marks.insert(marks.end(), one.marks.begin(), one.marks.end());
    marks.push_back({MarkId::compute_end, 0, end});
    marks.push_back({MarkId::returned, 0, now()});
    const Done done{.tag = query.tag, .status = Status::ok, .marks = marks, .tokens = &counts};
    deliver(done);
    queue_.finished();
  }

  void fail(const Active& one, const std::exception& failure) {
    const Error error = error_from(failure);
    deliver({.tag = queries_[static_cast<size_t>(one.slot)].tag, .status = Status::failed, .error = &error});
    queue_.finished();
  }

  void deliver(const Done& done) const {
    if (completion_) completion_(std::span(&done, 1));
  }

  Nanoseconds now() const {
    if (clock_ != nullptr) return clock_->now();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  const std::string name_;
  const Generator generator_;
  Completion completion_;
  Clock* clock_;
  const uint64_t unique_seed_;
  std::vector<Query> queries_;  // by slot
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<DecoderSteps> steps_;
  std::vector<StagedPrompt> prompts_;  // as they were staged
  uint64_t next_number_ = 0;
  std::mutex mutex_;  // guards what the thread counts and others take
  Work work_;
  AnswerLog answers_;
  QueryQueue queue_;
  std::optional<std::jthread> thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<Session> make_generate_session(const Model& model, const LoadOptions& options, Generator generator) {
  const std::string engine = generator.engine;
  try {
    return std::make_unique<GenerateSession>(model, options, std::move(generator));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("{}: no memory left while {} is loaded", engine, model.name()));
  }
}

}  // namespace deepgap
