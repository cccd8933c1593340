#include "backends/common/serial_session.h"
#include "backends/xla/xla_program.h"
#include "backends/xla/xla_session.h"
#include "cuda/samples.h"

#include <fmt/format.h>

#include <deque>
#include <new>
#include <optional>

namespace deepgap {
namespace {

using cuda::DeviceMemory;
using cuda::PinnedMemory;

// What one query at a time works with.
struct Slot {
  Slot(cuda::SamplePlace place, int64_t largest, size_t input_bytes) : space(place, largest, input_bytes) {}
  cuda::Stream stream;  // for its copies; XLA computes on streams of its own
  cuda::GatherSpace space;
  std::vector<DeviceMemory> inputs;
  std::vector<PinnedMemory> outputs;
  std::vector<TensorView> views;
};

class XlaCudaSession final : public SerialSession {
 public:
  XlaCudaSession(const PjrtLibrary& library, const Model& model, const LoadOptions& options)
      : SerialSession("xla", model, options, ports(model.graph(), model.graph().inputs)),
        context_(options.placement.devices.front().index),
        place_(cuda::sample_place(options)),
        settings_(xla_settings(options)),
        client_(library, options.placement.devices.front().index, options.threads),
        program_(model.graph(), client_, settings_, is_ready(place_)),
        samples_("xla", names_of(inputs_), place_, cuda::device_facts(options.placement.devices.front().index).architecture()) {
    context_.use();
    for (const int64_t batch : options.batch_sizes) program_.prepare(batch);
    for (Query& query : queries_) {
      query.inputs.clear();  // samples come together on the device
      add_slot();
    }
    start([this] { context_.use(); }, slots());
  }
  ~XlaCudaSession() override { stop(); }

  void stage(std::span<const std::vector<TensorView>> inputs) override {
    SerialSession::stage(inputs);  // refuses samples that do not fit
    context_.use();
    try {
      samples_.stage(inputs, [this](size_t input, cuda::Address from, size_t count) { return converted(input, from, count); });
    } catch (const PjrtFailure& failure) {
      throw xla_error(failure, "does not place the samples");
    }
    cuda::check(cuda::driver().cuCtxSynchronize(), "placing the samples");
  }
  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot)).views; }

  MemoryUse memory() const override {
    MemoryUse use = client_.memory();
    const auto samples = static_cast<int64_t>(context_.taken_bytes());
    for (int64_t* bytes : {&use.reserved_bytes, &use.in_use_bytes, &use.peak_bytes})
      if (*bytes >= 0) *bytes += samples;
    return use;
  }

 private:
  size_t input_bytes(size_t input, int64_t batch) const {
    return bytes_of(program_.text(largest_).input_types[input], *inputs_[input].shape(batch));
  }

  void add_slot() {
    size_t given_bytes = 0;
    for (const Port& input : inputs_) given_bytes += bytes_of(input.type, *input.shape(largest_));
    Slot& slot = slots_.emplace_back(place_, largest_, given_bytes);
    for (size_t i = 0; i < inputs_.size(); ++i) slot.inputs.emplace_back(input_bytes(i, largest_));
    const XlaText& text = program_.text(largest_);
    for (size_t i = 0; i < text.output_types.size(); ++i) slot.outputs.emplace_back(bytes_of(text.output_types[i], text.output_shapes[i]));
  }

  // Samples in the type in which they are computed, by a program of XLA.
  std::optional<DeviceMemory> converted(size_t input, cuda::Address from, size_t count) const {
    const DataType type = inputs_[input].type, wanted = program_.text(largest_).input_types[input];
    if (type == wanted) return std::nullopt;
    Shape shape = *inputs_[input].shape(1);
    shape.empty() ? shape.push_back(static_cast<int64_t>(count)) : void(shape[0] *= static_cast<int64_t>(count));
    const PjrtExecutable program = client_.compile(xla_conversion(type, wanted, shape));
    const PjrtBuffer given = client_.over_device(type, shape, reinterpret_cast<void*>(from));
    const std::vector<PjrtBuffer> made = client_.execute(program, {given.get()}, 1);
    client_.wait(made.front());
    DeviceMemory memory(bytes_of(wanted, shape));
    cuda::check(cuda::driver().cuMemcpyDtoDAsync_v2(memory.address(), reinterpret_cast<cuda::Address>(client_.address(made.front())),
                                                    memory.bytes(), nullptr),
                "placing the samples");
    cuda::check(cuda::driver().cuCtxSynchronize(), "placing the samples");
    return memory;
  }

  std::vector<PjrtBuffer> gathered(Slot& slot, const Query& query, int64_t batch) const {
    std::vector<cuda::Address> addresses;
    std::vector<cuda::Samples::Input> copies;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const size_t bytes = input_bytes(i, batch);
      const cuda::Address lying = samples_.lying(query.samples, i, bytes);
      addresses.push_back(lying != 0 ? lying : slot.inputs[i].address());
      copies.push_back({lying != 0 ? 0 : addresses.back(), bytes});
    }
    samples_.launch(query.samples, copies, slot.space, slot.stream.get());
    slot.stream.synchronize();
    std::vector<PjrtBuffer> buffers;
    for (size_t i = 0; i < inputs_.size(); ++i)
      buffers.push_back(
          client_.over_device(program_.text(largest_).input_types[i], *inputs_[i].shape(batch), reinterpret_cast<void*>(addresses[i])));
    return buffers;
  }

  void copy_outputs(Slot& slot, const std::vector<PjrtBuffer>& results, const XlaText& text) const {
    slot.views.clear();
    for (size_t i = 0; i < results.size(); ++i) {
      const TensorView view{text.output_types[i], text.output_shapes[i], slot.outputs[i].data()};
      cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(slot.outputs[i].data(), reinterpret_cast<cuda::Address>(client_.address(results[i])),
                                                      view.bytes(), slot.stream.get()),
                  "reading the outputs");
      slot.views.push_back(view);
    }
    slot.stream.synchronize();
  }

  size_t compute(size_t index, Query& query, std::span<Mark> marks) override {
    Slot& slot = slots_[index];
    const auto batch = static_cast<int64_t>(query.samples.size());
    if (!program_.is_prepared(batch)) throw Error(ErrorKind::input, fmt::format("xla: {} samples, which were not loaded for", batch));
    const std::vector<PjrtBuffer> inputs = gathered(slot, query, batch);
    marks[0] = {MarkId::compute_begin, 0, clock_.now()};
    const std::vector<PjrtBuffer> results = program_.run(batch, inputs);
    for (const PjrtBuffer& result : results) client_.wait(result);
    marks[1] = {MarkId::compute_end, 0, clock_.now()};
    copy_outputs(slot, results, program_.text(batch));
    marks[2] = {MarkId::d2h_end, 0, clock_.now()};
    marks[3] = {MarkId::returned, 0, clock_.now()};
    return 4;
  }
  Error error_of(const std::exception& failure) const override { return xla_run_error(failure); }

  cuda::DeviceContext context_;
  cuda::SamplePlace place_;
  XlaSettings settings_;
  PjrtClient client_;
  XlaProgram program_;
  cuda::Samples samples_;
  std::deque<Slot> slots_;
};

}  // namespace

std::unique_ptr<Session> make_xla_cuda_session(const PjrtLibrary& library, const Model& model, const LoadOptions& options) {
  try {
    return std::make_unique<XlaCudaSession>(library, model, options);
  } catch (const PjrtFailure& failure) {
    throw xla_error(failure, "does not load the model");
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("out of memory: xla loading {}", model.name()));
  }
}

}  // namespace deepgap
