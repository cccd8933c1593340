#include "cuda/objects.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <mutex>

namespace deepgap::cuda {
namespace {

// CUdevice_attribute
constexpr int attribute_clock = 13, attribute_multiprocessors = 16, attribute_memory_clock = 36, attribute_l2 = 38, attribute_major = 75,
              attribute_minor = 76, attribute_shared = 97;
constexpr int function_dynamic_shared = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr size_t shared_without_asking = 48 << 10;
constexpr unsigned stream_non_blocking = 1;
constexpr int capture_of_this_thread = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr Result not_ready = 600;

// Bytes that this process has taken on a device and not given back.
struct Account {
  size_t now = 0, peak = 0;
};
std::mutex account_mutex;
std::map<Device, Account> accounts;

int attribute(int which, Device device) {
  int value = 0;
  return driver().cuDeviceGetAttribute(&value, which, device) == 0 ? value : 0;
}

// Returns ", of which 3 MiB of 80 GiB are free"; empty if the driver does not report it.
std::string free_text() {
  size_t free = 0, total = 0;
  if (driver().cuMemGetInfo_v2(&free, &total) != 0) return {};
  return fmt::format(", of which {} of {} are free", format_bytes(static_cast<double>(free)), format_bytes(static_cast<double>(total)));
}

Device device_of(int ordinal) {
  const int count = device_count();
  if (ordinal < 0 || ordinal >= count)
    throw Error(ErrorKind::refused, fmt::format("there is no device cuda:{}: the NVIDIA driver counts {}", ordinal, count));
  Device device = 0;
  check(driver().cuDeviceGet(&device, ordinal), "looking for a device");
  return device;
}

std::string pci_of(Device device) {
  std::array<char, 32> address{};
  if (driver().cuDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device) != 0) return {};
  std::string text = address.data();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

int device_count() {
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "counting devices");
  return count;
}

DeviceFacts device_facts(int ordinal) {
  const Device device = device_of(ordinal);
  DeviceFacts facts;
  std::array<char, 256> name{};
  check(driver().cuDeviceGetName(name.data(), static_cast<int>(name.size()), device), "asking a device for its name");
  facts.name = name.data();
  facts.pci = pci_of(device);
  facts.major = attribute(attribute_major, device);
  facts.minor = attribute(attribute_minor, device);
  facts.multiprocessors = attribute(attribute_multiprocessors, device);
  facts.l2_bytes = static_cast<size_t>(attribute(attribute_l2, device));
  facts.shared_bytes = static_cast<size_t>(attribute(attribute_shared, device));
  facts.clock_khz = attribute(attribute_clock, device);
  facts.memory_clock_khz = attribute(attribute_memory_clock, device);
  check(driver().cuDeviceTotalMem_v2(&facts.memory_bytes, device), "asking a device for its memory");
  driver().cuDriverGetVersion(&facts.version);
  return facts;
}

DeviceContext::DeviceContext(int ordinal) : device_(device_of(ordinal)) {
  check(driver().cuDevicePrimaryCtxRetain(&context_, device_), fmt::format("opening cuda:{}", ordinal));
  use();
}
DeviceContext::~DeviceContext() { static_cast<void>(driver().cuDevicePrimaryCtxRelease_v2(device_)); }
void DeviceContext::use() const { check(driver().cuCtxSetCurrent(context_), "making a context current"); }

size_t DeviceContext::taken_bytes() const {
  const std::lock_guard lock(account_mutex);
  return accounts[device_].now;
}
size_t DeviceContext::peak_bytes() const {
  const std::lock_guard lock(account_mutex);
  return accounts[device_].peak;
}
void DeviceContext::reset_peak() const {
  const std::lock_guard lock(account_mutex);
  accounts[device_].peak = accounts[device_].now;
}

DeviceMemory::DeviceMemory(size_t bytes) {
  Allocation taken{0, std::max<size_t>(bytes, 1), 0};
  check(driver().cuCtxGetDevice(&taken.device), "asking which device is used");
  const Result result = driver().cuMemAlloc_v2(&taken.address, taken.bytes);
  if (result != 0)
    check(result, fmt::format("taking {} of the device's memory{}", format_bytes(static_cast<double>(taken.bytes)), free_text()));
  memory_ = Owned<Allocation, free_memory>(taken);
  const std::lock_guard lock(account_mutex);
  Account& account = accounts[taken.device];
  account.now += taken.bytes;
  account.peak = std::max(account.peak, account.now);
}
Result free_memory(Allocation allocation) {
  {
    const std::lock_guard lock(account_mutex);
    accounts[allocation.device].now -= allocation.bytes;
  }
  return driver().cuMemFree_v2(allocation.address);
}

void upload(Address to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  check(driver().cuMemcpyHtoD_v2(to, from, bytes), "copying to the device");
  check(driver().cuCtxSynchronize(), "copying to the device");
}

PinnedMemory::PinnedMemory(size_t bytes) : bytes_(std::max<size_t>(bytes, 1)) {
  void* address = nullptr;
  check(driver().cuMemHostAlloc(&address, bytes_, 0), fmt::format("taking {} bytes of page-locked memory", bytes_));
  memory_ = Owned<void*, free_host>(address);
}

Stream::Stream() {
  StreamHandle stream = nullptr;
  check(driver().cuStreamCreate(&stream, stream_non_blocking), "making a stream");
  stream_ = Owned<StreamHandle, destroy_stream>(stream);
}
void Stream::synchronize() const { check(driver().cuStreamSynchronize(get()), "waiting for the device"); }
void Stream::wait(EventHandle event) const { check(driver().cuStreamWaitEvent(get(), event, 0), "ordering streams"); }

Event::Event() {
  EventHandle event = nullptr;
  check(driver().cuEventCreate(&event, 0), "making an event");
  event_ = Owned<EventHandle, destroy_event>(event);
}
void Event::record(StreamHandle stream) const { check(driver().cuEventRecord(get(), stream), "recording an event"); }
bool Event::passed() const {
  const Result result = driver().cuEventQuery(get());
  if (result == not_ready) return false;
  check(result, "running the model");
  return true;
}
void Event::synchronize() const { check(driver().cuEventSynchronize(get()), "running the model"); }
long long Event::since_ns(const Event& from) const {
  float ms = 0;
  check(driver().cuEventElapsedTime(&ms, from.get(), get()), "reading an event");
  return std::llround(static_cast<double>(ms) * 1e6);
}

Module::Module(const std::string& cubin) {
  ModuleHandle module = nullptr;
  check(driver().cuModuleLoadData(&module, cubin.data()), "loading machine code");
  module_ = Owned<ModuleHandle, unload_module>(module);
}
Function Module::function(const std::string& name, size_t shared_bytes) const {
  Function function = nullptr;
  check(driver().cuModuleGetFunction(&function, module_.get(), name.c_str()), "looking for kernel " + name);
  if (shared_bytes > shared_without_asking)
    check(driver().cuFuncSetAttribute(function, function_dynamic_shared, static_cast<int>(shared_bytes)),
          fmt::format("asking for {} bytes of shared memory for {}", shared_bytes, name));
  return function;
}

void CudaGraph::begin(const Stream& stream) {
  check(driver().cuStreamBeginCapture_v2(stream.get(), capture_of_this_thread), "recording a graph");
}
void CudaGraph::drop(const Stream& stream) {
  GraphHandle graph = nullptr;
  if (driver().cuStreamEndCapture(stream.get(), &graph) == 0 && graph != nullptr) static_cast<void>(driver().cuGraphDestroy(graph));
}
CudaGraph CudaGraph::end(const Stream& stream) {
  GraphHandle graph = nullptr;
  check(driver().cuStreamEndCapture(stream.get(), &graph), "recording a graph");
  CudaGraph made;
  made.graph_ = Owned<GraphHandle, destroy_recorded>(graph);
  GraphExec exec = nullptr;
  check(driver().cuGraphInstantiateWithFlags(&exec, graph, 0), "making a graph");
  made.exec_ = Owned<GraphExec, destroy_graph>(exec);
  return made;
}
void CudaGraph::launch(const Stream& stream) const { check(driver().cuGraphLaunch(exec_.get(), stream.get()), "launching a graph"); }

GraphNode CudaGraph::last(const Stream& stream) {
  int status = 0;
  uint64_t id = 0;
  GraphHandle graph = nullptr;
  const GraphNode* last = nullptr;
  size_t count = 0;
  check(driver().cuStreamGetCaptureInfo_v2(stream.get(), &status, &id, &graph, &last, &count), "recording a graph");
  return count == 1 ? *last : nullptr;
}

void CudaGraph::give(GraphNode node, const LaunchConfig& config, Function function, void** arguments) {
  const KernelNode kernel{.function = function,
                          .grid_x = config.grid_x,
                          .grid_y = config.grid_y,
                          .grid_z = config.grid_z,
                          .block_x = config.block_x,
                          .block_y = config.block_y,
                          .block_z = config.block_z,
                          .shared_bytes = config.shared_bytes,
                          .parameters = arguments,
                          .extra = nullptr,
                          .kernel = nullptr,
                          .context = nullptr};
  check(driver().cuGraphExecKernelNodeSetParams_v2(exec_.get(), node, &kernel), "giving a graph other arguments");
}

}  // namespace deepgap::cuda
