#include "backends/xla/pjrt_client.h"

#include "base/words.h"
#include "model/wire.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <stdlib.h>

#include <cstddef>
#include <optional>

namespace deepgap {
namespace {

constexpr int major_version = 0;

PjrtType pjrt_type(DataType type) {
  constexpr PjrtType types[] = {PjrtType::f32, PjrtType::f64, PjrtType::f16, PjrtType::bf16, PjrtType::s8,  PjrtType::s16, PjrtType::s32,
                                PjrtType::s64, PjrtType::u8,  PjrtType::u16, PjrtType::u32,  PjrtType::u64, PjrtType::pred};
  return types[static_cast<size_t>(type)];
}

// The least that a CompileOptionsProto must say: one replica, one partition.
std::string compile_options() {
  constexpr uint32_t executable_build_options = 3, num_replicas = 4, num_partitions = 5;
  std::string build;
  WireWriter build_fields(build);
  build_fields.integer(num_replicas, 1);
  build_fields.integer(num_partitions, 1);
  std::string options;
  WireWriter(options).bytes(executable_build_options, build);
  return options;
}

// Threads that start while this lives stay on the first CPUs that the calling thread may use: XLA starts one for each.
class FewerCpus {
 public:
  explicit FewerCpus(int count) {
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0 || CPU_COUNT(&before_) <= count) return;
    cpu_set_t fewer;
    CPU_ZERO(&fewer);
    for (int cpu = 0; CPU_COUNT(&fewer) < count; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &fewer);
    moved_ = ::sched_setaffinity(0, sizeof fewer, &fewer) == 0;
  }
  ~FewerCpus() {
    if (moved_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  FewerCpus(const FewerCpus&) = delete;
  FewerCpus& operator=(const FewerCpus&) = delete;

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

PjrtNamedValue named(const std::string& name, PjrtValueType type) {
  PjrtNamedValue value;
  value.name = name.data();
  value.name_size = name.size();
  value.type = type;
  return value;
}

}  // namespace

PjrtLibrary::PjrtLibrary(const std::string& path) {
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0);  // errors only: its notes would stand between a run's lines
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw Error(ErrorKind::refused, fmt::format("XLA's plug-in does not load: {}", ::dlerror()));
  auto* get = reinterpret_cast<const PjrtApi* (*)()>(::dlsym(library, "GetPjrtApi"));
  if (get == nullptr) throw Error(ErrorKind::refused, fmt::format("{} is not a plug-in of XLA: it has no function GetPjrtApi", path));
  api_ = get();
  if (api_->version.major != major_version ||
      api_->struct_size < offsetof(PjrtApi, functions) + (PjrtViewOfDevice::place + 1) * sizeof(void*))
    throw Error(ErrorKind::refused, fmt::format("XLA's plug-in {} has version {} of PJRT, expected 0.81 or a later 0.x", path, version()));
  try {
    PjrtInitialize initialize;
    call(initialize);
  } catch (const PjrtFailure& failure) {
    throw Error(ErrorKind::refused, fmt::format("XLA's plug-in {} cannot be used: {}", path, one_line(failure.message)));
  }
}

std::string PjrtLibrary::version() const { return fmt::format("{}.{}", api_->version.major, api_->version.minor); }

void PjrtLibrary::call(size_t place, void* arguments) const {
  const auto function = [&](size_t at) { return (&api_->functions[0])[at]; };
  PjrtError* error = function(place)(arguments);
  // These two return nothing.
  if (place == PjrtDestroyError::place || place == PjrtErrorMessage::place || error == nullptr) return;
  PjrtErrorMessage message;
  message.error = error;
  call(message);
  PjrtErrorCode code;
  code.error = error;
  call(code);
  const PjrtFailure failure(code.code, std::string(message.message, message.message_size));
  PjrtDestroyError destroy;
  destroy.error = error;
  call(destroy);
  throw failure;
}

PjrtClient::PjrtClient(const PjrtLibrary& library, int device, int threads) : library_(library) {
  std::optional<FewerCpus> fewer;
  if (device < 0) fewer.emplace(threads);
  const std::string visible = "visible_devices", preallocate = "preallocate";
  const int64_t number = device;
  std::vector<PjrtNamedValue> options;
  if (device >= 0) {
    options.push_back(named(visible, PjrtValueType::integers));
    options.back().integers = &number;
    // XLA takes memory as it needs it, so that the record shows how much a network needs.
    options.push_back(named(preallocate, PjrtValueType::boolean));
    options.back().boolean = false;
  }
  PjrtCreateClient create;
  create.options = options.data();
  create.option_count = options.size();
  library_.call(create);
  client_ = {library_, create.client};
  PjrtDevices devices;
  devices.client = client_.get();
  library_.call(devices);
  if (devices.count == 0) throw PjrtFailure(0, "it has no device");
  device_ = devices.devices[0];
}

PjrtExecutable PjrtClient::compile(std::string text) const {
  constexpr std::string_view format = "mlir";
  const std::string options = compile_options();
  PjrtProgram program;
  program.code = text.data();
  program.code_size = text.size();
  program.format = format.data();
  program.format_size = format.size();
  PjrtCompile compile;
  compile.client = client_.get();
  compile.program = &program;
  compile.options = options.data();
  compile.options_size = options.size();
  library_.call(compile);
  return {library_, compile.executable};
}

PjrtBuffer PjrtClient::from_host(DataType type, const Shape& shape, const std::byte* data, PjrtHostBytes bytes) const {
  PjrtBufferFromHost from;
  from.client = client_.get();
  from.data = data;
  from.type = pjrt_type(type);
  from.dims = shape.data();
  from.rank = shape.size();
  from.bytes = bytes;
  from.device = device_;
  library_.call(from);
  PjrtBuffer buffer(library_, from.buffer);
  if (bytes == PjrtHostBytes::during_use) {  // the event comes when the buffer goes
    PjrtDestroyEvent destroy;
    destroy.event = from.copied;
    library_.call(destroy);
  } else {
    await(from.copied);
  }
  return buffer;
}

PjrtBuffer PjrtClient::copy(const TensorView& tensor) const {
  return from_host(tensor.type, {tensor.shape.begin(), tensor.shape.end()}, tensor.data, PjrtHostBytes::until_copied);
}

PjrtBuffer PjrtClient::over_host(DataType type, const Shape& shape, const std::byte* data) const {
  return from_host(type, shape, data, PjrtHostBytes::during_use);
}

PjrtBuffer PjrtClient::over_device(DataType type, const Shape& shape, void* address) const {
  PjrtViewOfDevice view;
  view.client = client_.get();
  view.address = address;
  view.dims = shape.data();
  view.rank = shape.size();
  view.type = pjrt_type(type);
  view.device = device_;
  view.on_delete = [](void*, void*) {};  // XLA's plug-in for GPUs calls it, given or not
  library_.call(view);
  return {library_, view.buffer};
}

std::vector<PjrtBuffer> PjrtClient::execute(const PjrtExecutable& program, const std::vector<PjrtBufferObject*>& arguments,
                                            size_t outputs) const {
  std::vector<int64_t> kept(arguments.size());
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<int64_t>(i);
  PjrtExecuteOptions options;
  options.kept_inputs = kept.data();
  options.kept_input_count = kept.size();
  PjrtBufferObject* const* const arguments_of_device = arguments.data();
  std::vector<PjrtBufferObject*> made(outputs, nullptr);
  PjrtBufferObject** const outputs_of_device = made.data();
  PjrtExecute execute;
  execute.executable = program.get();
  execute.options = &options;
  execute.arguments = &arguments_of_device;
  execute.argument_count = arguments.size();
  execute.outputs = &outputs_of_device;
  library_.call(execute);
  std::vector<PjrtBuffer> buffers;
  for (PjrtBufferObject* object : made) buffers.emplace_back(library_, object);
  return buffers;
}

void PjrtClient::await(PjrtEvent* event) const {
  const PjrtOwned<PjrtEvent, PjrtDestroyEvent, &PjrtDestroyEvent::event> owned(library_, event);
  PjrtAwait await;
  await.event = event;
  library_.call(await);
}

void PjrtClient::wait(const PjrtBuffer& buffer) const {
  PjrtReadyEvent ready;
  ready.buffer = buffer.get();
  library_.call(ready);
  await(ready.event);
}

void PjrtClient::read(const PjrtBuffer& buffer, std::byte* to, size_t bytes) const {
  PjrtBufferToHost copy;
  copy.buffer = buffer.get();
  copy.to = to;
  copy.bytes = bytes;
  library_.call(copy);
  await(copy.copied);
}

void* PjrtClient::address(const PjrtBuffer& buffer) const {
  PjrtDeviceAddress address;
  address.buffer = buffer.get();
  library_.call(address);
  return address.address;
}

MemoryUse PjrtClient::memory() const {
  PjrtMemoryStats stats;
  stats.device = device_;
  try {
    library_.call(stats);
  } catch (const PjrtFailure&) {  // the CPU's does not count
    return {};
  }
  const auto known = [](const PjrtMemoryStats::Optional& value) { return value.is_set ? value.value : -1; };
  return {known(stats.pool_bytes), stats.bytes_in_use, known(stats.peak_bytes_in_use)};
}

}  // namespace deepgap
