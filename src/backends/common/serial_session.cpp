#include "backends/common/serial_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace deepgap {

SerialSession::SerialSession(const std::string& engine, const Model& model, const LoadOptions& options, std::vector<Port> inputs)
    : engine_(engine),
      clock_(*options.clock),
      inputs_(std::move(inputs)),
      largest_(*std::max_element(options.batch_sizes.begin(), options.batch_sizes.end())),
      staging_(engine, inputs_),
      queries_(static_cast<size_t>(options.slots)),
      completion_(options.completion),
      queue_(options.slots + 1) {
  for (const int64_t batch : options.batch_sizes) input_shapes(engine, model.name(), inputs_, batch);
  for (Query& query : queries_)
    for (const Port& input : inputs_) query.inputs.emplace_back(bytes_of(input.type, *input.shape(largest_)));
}

void SerialSession::start(const std::function<void()>& begin, int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, begin] {
      begin();
      serve();
    });
  }
}

void SerialSession::stop() {
  SerialSession::cancel();
  queue_.close();
  for (std::thread& thread : threads_) thread.join();
}

void SerialSession::enqueue(int slot, std::span<const uint32_t> samples, uint64_t tag) {
  Query& query = queries_.at(static_cast<size_t>(slot));
  query.enqueued = clock_.now();
  query.samples.assign(samples.begin(), samples.end());
  query.tag = tag;
  queue_.push(slot);
}

void SerialSession::cancel() {
  queue_.withdraw([this](int slot) { deliver({.tag = queries_[static_cast<size_t>(slot)].tag, .status = Status::cancelled}); });
  queue_.drain();
}

void SerialSession::run_on_thread(const std::function<void()>& work) {
  drain();
  apart_ = &work;
  queue_.push(slots());
  drain();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void SerialSession::serve() {
  while (const auto slot = queue_.take()) {
    if (*slot < slots()) {
      answer(static_cast<size_t>(*slot));
    } else {
      try {
        (*apart_)();
      } catch (...) {
        thrown_ = std::current_exception();
      }
    }
    queue_.finished();
  }
}

// Another thread may use the slot again as soon as the completion was called.
void SerialSession::answer(size_t slot) {
  Query& query = queries_[slot];
  std::array<Mark, 8> marks{{{MarkId::enqueued, 0, query.enqueued}, {MarkId::h2d_begin, 0, clock_.now()}}};
  Done done{.tag = query.tag};
  std::optional<Error> error;
  try {
    const auto batch = static_cast<int64_t>(query.samples.size());
    if (batch < 1 || batch > largest_)
      throw Error(ErrorKind::input, fmt::format("{}: {} samples, loaded for at most {}", engine_, batch, largest_));
    const size_t more = compute(slot, query, std::span(marks).subspan(2));
    done.marks = std::span(marks).first(2 + more);
  } catch (const std::exception& failure) {
    error = error_of(failure);
    done = {query.tag, Status::failed, std::span(marks).first(1), &*error};
  }
  deliver(done);
}

}  // namespace deepgap
