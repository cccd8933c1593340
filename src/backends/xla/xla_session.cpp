#include "backends/xla/xla_session.h"

#include "backends/common/serial_session.h"
#include "backends/xla/xla_program.h"

#include <fmt/format.h>

#include <new>

namespace deepgap {
namespace {

struct Outputs {
  std::vector<PjrtBuffer> buffers;
  std::vector<TensorView> views;
};

class XlaSession final : public SerialSession {
 public:
  XlaSession(const PjrtLibrary& library, const Model& model, const LoadOptions& options)
      : SerialSession("xla", model, options, ports(model.graph(), model.graph().inputs)),
        client_(library, -1, options.threads),
        program_(model.graph(), client_, xla_settings(options), false),
        outputs_(static_cast<size_t>(options.slots)) {
    for (const int64_t batch : options.batch_sizes) program_.prepare(batch);
    start([] {});
  }
  ~XlaSession() override { stop(); }

  std::span<const TensorView> outputs(int slot) const override { return outputs_.at(static_cast<size_t>(slot)).views; }
  MemoryUse memory() const override { return client_.memory(); }

 private:
  std::vector<PjrtBuffer> gathered(Query& query, int64_t batch) const {
    std::vector<PjrtBuffer> buffers;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Shape shape = *inputs_[i].shape(batch);
      const std::byte* data =
          staging_.adjacent_or_gathered(i, query.samples, batch, query.inputs[i].data(), bytes_of(inputs_[i].type, shape));
      buffers.push_back(client_.over_host(inputs_[i].type, shape, data));
    }
    return buffers;
  }

  size_t compute(size_t slot, Query& query, std::span<Mark> marks) override {
    const auto batch = static_cast<int64_t>(query.samples.size());
    program_.prepare(batch);  // a smaller batch than any that was loaded for is compiled when it first comes
    const std::vector<PjrtBuffer> inputs = gathered(query, batch);
    Outputs& outputs = outputs_[slot];
    marks[0] = {MarkId::compute_begin, 0, clock_.now()};
    outputs.buffers = program_.run(batch, inputs);
    for (const PjrtBuffer& buffer : outputs.buffers) client_.wait(buffer);
    marks[1] = {MarkId::compute_end, 0, clock_.now()};
    const XlaText& text = program_.text(batch);
    outputs.views.clear();
    for (size_t i = 0; i < outputs.buffers.size(); ++i)
      outputs.views.push_back(
          {text.output_types[i], text.output_shapes[i], static_cast<const std::byte*>(client_.address(outputs.buffers[i]))});
    marks[2] = {MarkId::returned, 0, clock_.now()};
    return 3;
  }
  Error error_of(const std::exception& failure) const override { return xla_run_error(failure); }

  PjrtClient client_;
  XlaProgram program_;
  std::vector<Outputs> outputs_;  // by slot
};

}  // namespace

std::unique_ptr<Session> make_xla_session(const PjrtLibrary& library, const Model& model, const LoadOptions& options) {
  try {
    return std::make_unique<XlaSession>(library, model, options);
  } catch (const PjrtFailure& failure) {
    throw xla_error(failure, "does not load the model");
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("out of memory: xla loading {}", model.name()));
  }
}

}  // namespace deepgap
