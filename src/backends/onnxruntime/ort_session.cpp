#include "backends/onnxruntime/ort_session.h"

#include "backends/onnxruntime/ort_failure.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

const OrtLibrary& ort() { return OrtLibrary::instance(); }

// ONNXTensorElementDataType, by the order of DataType.
constexpr std::array<int, 13> element_types{1, 11, 10, 16, 3, 5, 6, 7, 2, 4, 12, 13, 9};
int element_type(DataType type) { return element_types[static_cast<size_t>(type)]; }

// An input or output of the model.
struct Port {
  std::string name;
  DataType type = DataType::f32;
  std::optional<Dims> dims;

  // nullopt when it does not follow from the batch alone.
  std::optional<Shape> shape(int64_t batch) const {
    if (!dims) return std::nullopt;
    Shape sizes;
    for (const Dim& dim : *dims) {
      if (!dim.known() && dim.symbol != batch_symbol) return std::nullopt;
      sizes.push_back(dim.known() ? dim.size : dim.size * batch);
    }
    return sizes;
  }
};

std::vector<Port> ports(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Port> result;
  for (const ValueId id : ids) {
    const Value& value = graph.values[static_cast<size_t>(id)];
    result.push_back({value.name, value.type, value.dims});
  }
  return result;
}

size_t bytes_of(DataType type, const Shape& shape) { return TensorView{type, shape, nullptr}.bytes(); }

// Bytes of a slot, touched at load so that no query pays for page faults.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : tensor_(make_tensor(DataType::u8, {static_cast<int64_t>(bytes)})) { std::memset(data(), 0, bytes); }
  std::byte* data() { return writable<std::byte>(tensor_).data(); }
  size_t bytes() const { return tensor_.bytes(); }

 private:
  Tensor tensor_;
};

// The slot's buffers as the library's values, for one batch size.
struct Binding {
  std::vector<Shape> input_shapes, output_shapes;
  std::vector<OrtValueHandle> inputs, outputs;  // an output is null when its size is known only after the run
};

struct Slot {
  std::vector<Buffer> inputs, outputs;
  std::map<int64_t, Binding> bindings;  // by batch
  std::vector<OrtValue*> in, out;       // arguments of the run
  std::vector<OrtValueHandle> made;     // outputs that the library made in the last run
  std::vector<Shape> made_shapes;       // beside `made`
  std::vector<TensorView> views;
};

class OrtSessionRunner final : public Session {
 public:
  OrtSessionRunner(const Model& model, const LoadOptions& options, const OrtSettings& settings)
      : inputs_(ports(model.graph(), model.graph().inputs)),
        outputs_(ports(model.graph(), model.graph().outputs)),
        max_batch_(*std::max_element(options.batch_sizes.begin(), options.batch_sizes.end())),
        clock_(*options.clock),
        completion_(options.completion) {
    for (const int64_t batch : options.batch_sizes) check_batch(model, batch);
    open(model, settings);
    for (const Port& port : inputs_) input_names_.push_back(port.name.c_str());
    for (const Port& port : outputs_) output_names_.push_back(port.name.c_str());
    OrtMemoryInfo* info = nullptr;
    ort().call(ort_create_cpu_memory_info, ort_arena_allocator, ort_memory_default, &info);
    memory_info_.reset(info);
    slots_.resize(static_cast<size_t>(options.slots));
    for (Slot& slot : slots_) {
      allocate(slot);
      for (const int64_t batch : options.batch_sizes) bind(slot, batch);
    }
  }

  int slots() const override { return static_cast<int>(slots_.size()); }

  void stage(std::span<const std::vector<TensorView>> inputs) override {
    staged_.clear();
    sample_bytes_.assign(inputs_.size(), 0);
    for (const std::vector<TensorView>& sample : inputs) {
      if (sample.size() != inputs_.size()) {
        throw Error(ErrorKind::input, fmt::format("a sample has {} tensors, the model {} inputs", sample.size(), inputs_.size()));
      }
      for (size_t i = 0; i < sample.size(); ++i) stage_tensor(i, sample[i]);
    }
  }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    Slot& slot = slots_.at(static_cast<size_t>(index));
    std::array<Mark, 3> marks{};
    Status status = Status::ok;
    try {
      Binding& binding = bind(slot, static_cast<int64_t>(samples.size()));
      marks[0] = {MarkId::h2d_begin, 0, clock_.now()};
      gather(slot, binding, samples);
      marks[1] = {MarkId::compute_begin, 0, clock_.now()};
      run(slot, binding);
      marks[2] = {MarkId::compute_end, 0, clock_.now()};
      show(slot, binding);
    } catch (const OrtFailure& failure) {
      status = Status::failed;
      last_error_ = is_out_of_memory(failure) ? "out of memory: " : "";
      last_error_ += "onnxruntime: " + short_message(failure.message);
    } catch (const Error& error) {
      status = Status::failed;
      last_error_ = error.what();
    }
    const Done done{.tag = tag, .status = status, .marks = std::span<const Mark>(marks.data(), status == Status::ok ? marks.size() : 0)};
    completion_(std::span(&done, 1));
  }

  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot)).views; }
  void drain() override {}   // nothing is ever pending
  void cancel() override {}  // likewise
  std::string last_error() const override { return last_error_; }

  // Of the library's arena, weights and this Session's buffers included. Its peak is since load: the arena cannot forget it.
  MemoryUse memory() const override {
    OrtAllocator* raw = nullptr;
    OrtKeyValuePairs* pairs = nullptr;
    MemoryUse use;
    try {
      ort().call(ort_create_allocator, session_.get(), memory_info_.get(), &raw);
      const OrtAllocatorHandle allocator(raw);
      ort().call(ort_allocator_stats, raw, &pairs);
      const OrtKeyValuesHandle stats(pairs);
      const auto bytes = [&](const char* key) -> int64_t {
        const char* text = ort().raw(ort_get_key_value, pairs, key);
        const auto value = text == nullptr ? std::nullopt : parse_int(text);
        return value ? *value + buffer_bytes_ : -1;
      };
      use = {bytes("TotalAllocated"), bytes("InUse"), bytes("MaxInUse")};
    } catch (const OrtFailure&) {  // an arena without statistics: not known
    }
    return use;
  }

 private:
  void check_batch(const Model& model, int64_t batch) const {
    for (const Port& port : inputs_) {
      if (!port.shape(batch)) {
        throw Error(ErrorKind::refused,
                    fmt::format("onnxruntime: the shape of input '{}' of {} is open; give it with --shape", port.name, model.name()));
      }
      const bool fixed = port.dims->empty() || port.dims->front().known();
      if (fixed && batch > 1 && (port.dims->empty() || port.dims->front().size != batch)) {
        throw Error(ErrorKind::refused, fmt::format("onnxruntime: input '{}' of {} has a fixed shape, which does not take batch {}",
                                                    port.name, model.name(), batch));
      }
    }
  }

  void open(const Model& model, const OrtSettings& settings) {
    const OrtSessionOptionsHandle options = make_session_options(settings);
    OrtSession* session = nullptr;
    try {
      // Protobuf cannot hold more in one message; a file may keep its weights beside it.
      constexpr int64_t protobuf_limit = (int64_t{1} << 31) - (int64_t{16} << 20);
      if (model.summary().weight_bytes > protobuf_limit && !model.file().empty()) {
        ort().call(ort_create_session, ort().env(), model.file().c_str(), options.get(), &session);
      } else {
        const std::span<const std::byte> bytes = model.onnx();
        ort().call(ort_create_session_from_array, ort().env(), bytes.data(), bytes.size(), options.get(), &session);
      }
    } catch (const OrtFailure& failure) {
      throw load_error(failure, model.graph());
    }
    session_.reset(session);
  }

  void allocate(Slot& slot) {
    const auto add = [&](std::vector<Buffer>& buffers, const Port& port) {
      const auto shape = port.shape(max_batch_);
      buffers.emplace_back(shape ? bytes_of(port.type, *shape) : 0);
      buffer_bytes_ += static_cast<int64_t>(buffers.back().bytes());
    };
    for (const Port& port : inputs_) add(slot.inputs, port);
    for (const Port& port : outputs_) add(slot.outputs, port);
    slot.in.resize(inputs_.size());
    slot.out.resize(outputs_.size());
    slot.made.resize(outputs_.size());
    slot.made_shapes.resize(outputs_.size());
    slot.views.resize(outputs_.size());
  }

  OrtValueHandle value_over(Buffer& buffer, DataType type, const Shape& shape) const {
    OrtValue* value = nullptr;
    ort().call(ort_create_tensor_with_data, memory_info_.get(), buffer.data(), bytes_of(type, shape), shape.data(), shape.size(),
               element_type(type), &value);
    return OrtValueHandle(value);
  }

  // Made once for each batch size; those given at load are there before the first query.
  Binding& bind(Slot& slot, int64_t batch) {
    if (const auto found = slot.bindings.find(batch); found != slot.bindings.end()) return found->second;
    if (batch < 1 || batch > max_batch_) {
      throw Error(ErrorKind::input, fmt::format("onnxruntime: {} samples, loaded for at most {}", batch, max_batch_));
    }
    Binding binding;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      binding.input_shapes.push_back(*inputs_[i].shape(batch));
      binding.inputs.push_back(value_over(slot.inputs[i], inputs_[i].type, binding.input_shapes[i]));
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto shape = outputs_[i].shape(batch);
      binding.output_shapes.push_back(shape.value_or(Shape{}));
      binding.outputs.push_back(shape ? value_over(slot.outputs[i], outputs_[i].type, *shape) : nullptr);
    }
    return slot.bindings.emplace(batch, std::move(binding)).first->second;
  }

  void stage_tensor(size_t input, const TensorView& tensor) {
    const Port& port = inputs_[input];
    if (tensor.type != port.type) {
      throw Error(ErrorKind::input,
                  fmt::format("a sample for input '{}' is {}, the model takes {}", port.name, name_of(tensor.type), name_of(port.type)));
    }
    if (staged_.size() < inputs_.size()) sample_bytes_[input] = tensor.bytes();
    if (tensor.bytes() != sample_bytes_[input]) {
      throw Error(ErrorKind::input,
                  fmt::format("samples for input '{}' differ in size: {} and {} bytes", port.name, sample_bytes_[input], tensor.bytes()));
    }
    staged_.push_back(tensor.data);
  }

  // Copies the samples into the slot, one behind the other along the batch.
  void gather(Slot& slot, const Binding& binding, std::span<const uint32_t> samples) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const size_t bytes = sample_bytes_.empty() ? 0 : sample_bytes_[i];
      const size_t wanted = bytes_of(inputs_[i].type, binding.input_shapes[i]);
      if (bytes * samples.size() != wanted) {
        throw Error(ErrorKind::input, fmt::format("onnxruntime: {} samples of {} bytes for input '{}', the model takes {} bytes",
                                                  samples.size(), bytes, inputs_[i].name, wanted));
      }
      std::byte* to = slot.inputs[i].data();
      for (const uint32_t sample : samples) {
        std::memcpy(to, staged_.at(sample * inputs_.size() + i), bytes);
        to += bytes;
      }
    }
  }

  void run(Slot& slot, const Binding& binding) {
    for (size_t i = 0; i < slot.in.size(); ++i) slot.in[i] = binding.inputs[i].get();
    for (size_t i = 0; i < slot.out.size(); ++i) {
      slot.out[i] = binding.outputs[i].get();
      slot.made[i].reset();
    }
    ort().call(ort_run, session_.get(), nullptr, input_names_.data(), slot.in.data(), slot.in.size(), output_names_.data(), slot.out.size(),
               slot.out.data());
    for (size_t i = 0; i < slot.out.size(); ++i) {
      if (binding.outputs[i] == nullptr) slot.made[i].reset(slot.out[i]);
    }
  }

  void show(Slot& slot, const Binding& binding) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (slot.made[i] == nullptr) {
        slot.views[i] = {outputs_[i].type, binding.output_shapes[i], slot.outputs[i].data()};
      } else {
        slot.views[i] = view_made(slot.made[i].get(), outputs_[i], slot.made_shapes[i]);
      }
    }
  }

  static TensorView view_made(OrtValue* value, const Port& port, Shape& shape) {
    OrtTensorTypeAndShapeInfo* raw = nullptr;
    ort().call(ort_get_type_and_shape, value, &raw);
    const OrtTypeAndShapeHandle info(raw);
    int type = 0;
    size_t rank = 0;
    ort().call(ort_get_element_type, raw, &type);
    ort().call(ort_get_rank, raw, &rank);
    if (type != element_type(port.type)) throw Error(ErrorKind::input, fmt::format("onnxruntime: output '{}' has another type", port.name));
    shape.resize(rank);
    ort().call(ort_get_dimensions, raw, shape.data(), rank);
    void* data = nullptr;
    ort().call(ort_get_tensor_data, value, &data);
    return {port.type, shape, static_cast<const std::byte*>(data)};
  }

  std::vector<Port> inputs_, outputs_;
  std::vector<const char*> input_names_, output_names_;
  int64_t max_batch_;
  Clock& clock_;
  Completion completion_;
  OrtSessionHandle session_;
  OrtMemoryInfoHandle memory_info_;
  std::vector<Slot> slots_;  // after session_: its values go first
  int64_t buffer_bytes_ = 0;
  std::vector<const std::byte*> staged_;  // sample after sample, input after input
  std::vector<size_t> sample_bytes_;      // per input
  std::string last_error_;
};

}  // namespace

std::unique_ptr<Session> make_ort_session(const Model& model, const LoadOptions& options, const OrtSettings& settings) {
  if (options.clock == nullptr || !options.completion || options.slots < 1 || options.batch_sizes.empty()) {
    throw Error(ErrorKind::internal, "onnxruntime: load needs a clock, a completion, a slot and a batch size");
  }
  try {
    return std::make_unique<OrtSessionRunner>(model, options, settings);
  } catch (const OrtFailure& failure) {
    throw load_error(failure, model.graph());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("onnxruntime: no memory for the buffers of {}", model.name()));
  }
}

}  // namespace deepgap
