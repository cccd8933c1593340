// A driver of GPUs that are not there, for tests: they set what it answers, and change it between two readings.
#pragma once

#include "telemetry/nvml_api.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct FakeGpu {
  std::string name = "NVIDIA H200", uuid = "GPU-1111-aaaa", bus_id = "00000000:1B:00.0";
  std::map<std::string, int> fails;  // function of the table -> NvmlResult; "all" for every one
  unsigned long long energy_mj = 5'000'000, reasons = 0, power_throttled_ns = 0;
  unsigned power_mw = 300'000, instant_mw = 310'000, limit_mw = 700'000, default_limit_mw = 700'000, processes = 0;
  unsigned temperature = 45, sm_mhz = 1980, persistence = 1, ecc = 1, mig = 0, links = 0, busy = 97;
};

struct FakeNvml {
  std::vector<FakeGpu> gpus;
  int init_result = nvml_ok;
  int calls = 0;  // number of calls of device functions

  int answer(NvmlDevice device, const std::string& function) {
    ++calls;
    const auto& fails = static_cast<FakeGpu*>(device)->fails;
    for (const std::string& key : {std::string("all"), function}) {
      const auto found = fails.find(key);
      if (found != fails.end()) return found->second;
    }
    return nvml_ok;
  }
  NvmlLoader loader();

 private:
  void fill_system(NvmlApi& api);
  void fill_identity(NvmlApi& api);
  void fill_readings(NvmlApi& api);
  // Makes a function of the table that hands out `value(gpu)`.
  template <typename T, typename Value>
  auto gives(const std::string& function, Value value) {
    return [this, function, value](NvmlDevice device, T* out) {
      const int result = answer(device, function);
      if (result == nvml_ok) *out = value(*static_cast<FakeGpu*>(device));
      return result;
    };
  }
  static void put(const std::string& text, char* out, unsigned size) { std::snprintf(out, size, "%s", text.c_str()); }
};

inline void FakeNvml::fill_system(NvmlApi& api) {
  api.init = [this] { return init_result; };
  api.driver_version = [](char* out, unsigned size) { return put("580.159.03", out, size), nvml_ok; };
  api.nvml_version = [](char* out, unsigned size) { return put("13.580.159.03", out, size), nvml_ok; };
  api.cuda_version = [](int* out) { return *out = 13000, nvml_ok; };
  api.device_count = [this](unsigned* out) { return *out = static_cast<unsigned>(gpus.size()), nvml_ok; };
  api.device_by_index = [this](unsigned index, NvmlDevice* out) {
    *out = &gpus.at(index);
    return answer(*out, "device_by_index");
  };
}

inline void FakeNvml::fill_identity(NvmlApi& api) {
  api.name = [this](NvmlDevice d, char* out, unsigned size) { return put(static_cast<FakeGpu*>(d)->name, out, size), answer(d, "name"); };
  api.uuid = [this](NvmlDevice d, char* out, unsigned size) { return put(static_cast<FakeGpu*>(d)->uuid, out, size), answer(d, "uuid"); };
  api.pci = gives<NvmlPci>("pci", [](const FakeGpu& g) {
    NvmlPci pci{};
    put(g.bus_id, pci.bus_id.data(), pci.bus_id.size());
    return pci;
  });
  api.compute_capability = [this](NvmlDevice d, int* major, int* minor) { return *major = 9, *minor = 0, answer(d, "compute_capability"); };
  api.cores = gives<unsigned>("cores", [](const FakeGpu&) { return 132U * 128; });
  api.persistence = gives<unsigned>("persistence", [](const FakeGpu& g) { return g.persistence; });
  api.power_limit = gives<unsigned>("power_limit", [](const FakeGpu& g) { return g.limit_mw; });
  api.default_power_limit = gives<unsigned>("default_power_limit", [](const FakeGpu& g) { return g.default_limit_mw; });
  api.ecc_mode = [this](NvmlDevice d, unsigned* now, unsigned*) { return *now = static_cast<FakeGpu*>(d)->ecc, answer(d, "ecc_mode"); };
  api.mig_mode = [this](NvmlDevice d, unsigned* now, unsigned*) { return *now = static_cast<FakeGpu*>(d)->mig, answer(d, "mig_mode"); };
  api.link_state = [this](NvmlDevice d, unsigned link, unsigned* on) {
    return *on = link < static_cast<FakeGpu*>(d)->links ? 1 : 0, answer(d, "link_state");
  };
  api.link_version = [](NvmlDevice, unsigned, unsigned* out) { return *out = 4, nvml_ok; };
  api.link_remote = [](NvmlDevice, unsigned link, NvmlPci* out) {  // the first leads to another GPU, the others to a switch
    return put(link == 0 ? "00000000:1B:00.0" : "FFFFFFFF:FF:FF.0", out->bus_id.data(), out->bus_id.size()), nvml_ok;
  };
  api.common_ancestor = [](NvmlDevice, NvmlDevice, int* out) { return *out = 50, nvml_ok; };
  api.peer_status = [](NvmlDevice a, NvmlDevice b, int, int* status) {
    const bool linked = static_cast<FakeGpu*>(a)->links > 0 && static_cast<FakeGpu*>(b)->links > 0;
    return *status = linked ? nvml_peer_ok : 3, nvml_ok;
  };
}

inline void FakeNvml::fill_readings(NvmlApi& api) {
  api.energy = gives<unsigned long long>("energy", [](const FakeGpu& g) { return g.energy_mj; });
  api.throttle_reasons = gives<unsigned long long>("throttle_reasons", [](const FakeGpu& g) { return g.reasons; });
  api.power = gives<unsigned>("power", [](const FakeGpu& g) { return g.power_mw; });
  api.performance_state = gives<unsigned>("performance_state", [](const FakeGpu&) { return 0U; });
  api.pcie_generation = gives<unsigned>("pcie_generation", [](const FakeGpu&) { return 5U; });
  api.pcie_width = gives<unsigned>("pcie_width", [](const FakeGpu&) { return 16U; });
  api.utilization = gives<NvmlUtilization>("utilization", [](const FakeGpu& g) { return NvmlUtilization{g.busy, 40}; });
  api.memory = gives<NvmlMemory>("memory", [](const FakeGpu&) { return NvmlMemory{150'000'000'000, 149'000'000'000, 1'000'000'000}; });
  api.temperature = [this](NvmlDevice d, int, unsigned* t) { return *t = static_cast<FakeGpu*>(d)->temperature, answer(d, "temperature"); };
  api.clock = [this](NvmlDevice d, int, unsigned* mhz) { return *mhz = static_cast<FakeGpu*>(d)->sm_mhz, answer(d, "clock"); };
  api.clock_max = [this](NvmlDevice d, int, unsigned* mhz) { return *mhz = 1980, answer(d, "clock_max"); };
  api.violation = [this](NvmlDevice d, int policy, NvmlViolation* time) {
    *time = {0, policy == nvml_policy_power ? static_cast<FakeGpu*>(d)->power_throttled_ns : 0};
    return answer(d, "violation");
  };
  api.processes = [this](NvmlDevice d, unsigned* count, NvmlProcess*) {
    return *count = static_cast<FakeGpu*>(d)->processes, answer(d, "processes");
  };
  api.fields = [this](NvmlDevice d, int, NvmlField* field) {
    field->type = 1;
    field->value.word = field->id == nvml_field_power_instant ? static_cast<FakeGpu*>(d)->instant_mw : 60;
    field->result = answer(d, field->id == nvml_field_power_instant ? "instant" : "memory_temperature");
    return nvml_ok;
  };
}

// The table refers to this object, which must outlive it.
inline NvmlLoader FakeNvml::loader() {
  return [this] {
    NvmlLoad load;
    fill_system(load.api);
    fill_identity(load.api);
    fill_readings(load.api);
    return load;
  };
}

}  // namespace deepgap
