#include "backends/common/nvidia_devices.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>

namespace deepgap {
namespace {

// The driver interface's functions, whose signatures are fixed (CUDA Driver API, "Device Management"). All return 0 for success.
struct Driver {
  int (*init)(unsigned flags) = nullptr;
  int (*count)(int* devices) = nullptr;
  int (*get)(int* device, int ordinal) = nullptr;
  int (*name)(char* name, int length, int device) = nullptr;
  int (*memory)(size_t* bytes, int device) = nullptr;

  bool open() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return library != nullptr && find(library, "cuInit", init) && find(library, "cuDeviceGetCount", count) &&
           find(library, "cuDeviceGet", get) && find(library, "cuDeviceGetName", name) && find(library, "cuDeviceTotalMem_v2", memory);
  }
  template <typename Function>
  static bool find(void* library, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, symbol));
    return function != nullptr;
  }
};

std::vector<DeviceInfo> ask() {
  Driver driver;
  int count = 0;
  if (!driver.open() || driver.init(0) != 0 || driver.count(&count) != 0) return {};
  std::vector<DeviceInfo> devices;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    std::array<char, 256> name{};
    size_t bytes = 0;
    if (driver.get(&device, i) != 0 || driver.name(name.data(), static_cast<int>(name.size()) - 1, device) != 0) continue;
    const bool known = driver.memory(&bytes, device) == 0;
    devices.push_back({DeviceId{.kind = "cuda", .index = i}, name.data(), known ? static_cast<int64_t>(bytes) : -1, {}});
  }
  return devices;
}

}  // namespace

const std::vector<DeviceInfo>& nvidia_devices() {
  static const std::vector<DeviceInfo> devices = ask();
  return devices;
}

}  // namespace deepgap
