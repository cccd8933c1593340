// CUPTI that is not there, for tests: they say which records arrive, and see what was asked for.
//
//     FakeCupti fake;
//     fake.on_flush = [&] { fake.deliver(records); };
//     Tracer tracer(fake.table());
//
// One at a time.
#pragma once

#include "kernels/cupti_api.h"

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace deepgap::cupti {

class FakeCupti {
 public:
  std::map<std::string, Result> fails;  // by function
  std::set<int> enabled;                // kinds
  std::vector<uint64_t> pushed;         // external ids, as they stand
  std::function<void()> on_flush;       // delivers what is to arrive
  uint32_t next_correlation = 1;
  std::vector<std::pair<uint32_t, uint64_t>> externals;  // correlation, id: of launches while something was pushed

  FakeCupti() { current() = this; }
  ~FakeCupti() { current() = nullptr; }
  FakeCupti(const FakeCupti&) = delete;
  FakeCupti& operator=(const FakeCupti&) = delete;

  // A launch by the code under test: its correlation.
  uint32_t launch() {
    if (!pushed.empty()) externals.emplace_back(next_correlation, pushed.back());
    return next_correlation++;
  }
  template <typename Record>
  void add(const Record& record) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&record);
    records_.emplace_back(bytes, bytes + sizeof(Record));
  }
  void add_externals() {
    for (const auto& [correlation, id] : externals) add(ExternalRecord{kind_external, external_custom, id, correlation, 0});
    externals.clear();
  }
  // Puts what was added into a buffer of the tracer's and gives it back.
  void deliver() {
    uint8_t* buffer = nullptr;
    size_t bytes = 0, most = 0;
    request_(&buffer, &bytes, &most);
    size_t used = 0;
    for (const auto& record : records_) {
      std::memcpy(buffer + used, record.data(), record.size());
      used += record.size();
    }
    complete_(nullptr, 0, buffer, bytes, used);
    records_.clear();
  }

  const Api& table() {
    table_.cuptiGetVersion = [](uint32_t* version) { return *version = 130000, 0; };
    table_.cuptiGetResultString = [](Result, const char** text) { return *text = "CUPTI_ERROR_SCRIPTED", 0; };
    table_.cuptiGetTimestamp = [](uint64_t* now) { return *now = 0, 0; };
    table_.cuptiActivityEnable = [](int kind) { return current()->enabled.insert(kind), current()->result("cuptiActivityEnable"); };
    table_.cuptiActivityDisable = [](int kind) { return current()->enabled.erase(kind), 0; };
    table_.cuptiActivityRegisterCallbacks = [](RequestBuffer request, CompleteBuffer complete) {
      current()->request_ = request;
      current()->complete_ = complete;
      return current()->result("cuptiActivityRegisterCallbacks");
    };
    table_.cuptiActivityFlushAll = [](uint32_t) {
      if (current()->on_flush && !current()->enabled.empty()) current()->on_flush();
      return 0;
    };
    table_.cuptiActivityGetNextRecord = [](uint8_t* buffer, size_t bytes, void** record) {
      uint8_t* next = *record == nullptr ? buffer : static_cast<uint8_t*>(*record) + size_of(*record);
      if (next >= buffer + bytes) return max_limit_reached;
      return *record = next, 0;
    };
    table_.cuptiActivityGetNumDroppedRecords = [](void*, uint32_t, size_t* dropped) { return *dropped = 0, 0; };
    table_.cuptiActivityPushExternalCorrelationId = [](int, uint64_t id) { return current()->pushed.push_back(id), 0; };
    table_.cuptiActivityPopExternalCorrelationId = [](int, uint64_t* last) {
      *last = current()->pushed.back();
      return current()->pushed.pop_back(), 0;
    };
    table_.cuptiGetCallbackName = [](int domain, uint32_t, const char** name) {
      return *name = domain == 1 ? "cuLaunchKernel" : "cudaLaunchKernel", 0;
    };
    return table_;
  }

 private:
  static FakeCupti*& current() {
    static FakeCupti* instance = nullptr;
    return instance;
  }
  Result result(const std::string& function) const {
    const auto found = fails.find(function);
    return found == fails.end() ? 0 : found->second;
  }
  static size_t size_of(const void* record) {
    switch (*static_cast<const int*>(record)) {
      case kind_kernel:
        return sizeof(KernelRecord);
      case kind_memcpy:
        return sizeof(CopyRecord);
      case kind_memset:
        return sizeof(FillRecord);
      case kind_external:
        return sizeof(ExternalRecord);
      default:
        return sizeof(CallRecord);
    }
  }
  std::vector<std::vector<uint8_t>> records_;
  RequestBuffer request_ = nullptr;
  CompleteBuffer complete_ = nullptr;
  Api table_;
};

}  // namespace deepgap::cupti
