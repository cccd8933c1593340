// The part of CUPTI, NVIDIA's profiling library, that deepgap uses, as functions that are looked up at run time: nothing of ours is linked
// to it, a machine without it gets a sentence, tests fill the table themselves. Types are declared here since its headers come with a
// toolkit alone; records only as far as they have been the same since CUDA 11.1 (what is newer stands behind). cupti_api_test.cpp holds
// them against the headers where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace deepgap::cupti {

using Result = int;  // CUptiResult; 0 is success
inline constexpr Result max_limit_reached = 12, hardware_busy = 26, not_supported = 27, insufficient_privileges = 35,
                        virtual_insufficient_privileges = 40;

// CUpti_ActivityKind
inline constexpr int kind_memcpy = 1, kind_memset = 2, kind_driver = 4, kind_runtime = 5, kind_kernel = 10, kind_external = 39;
inline constexpr int external_custom = 3;  // CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0

// CUpti_ActivityKernel5 and later. Times are nanoseconds of CUPTI's clock.
struct __attribute__((packed, aligned(8))) KernelRecord {
  int kind;
  uint8_t cache_config, shared_config;
  uint16_t registers;  // registers per thread
  int cache_requested, cache_executed;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
  int32_t static_shared, dynamic_shared;  // bytes
  uint32_t local_of_thread, local_total;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;  // mangled; lives as long as the library
  void* reserved;
  uint64_t queued, submitted;
  uint8_t launch_type, carveout_requested, carveout, padding;
  uint32_t shared_executed;
  uint64_t graph_node;  // 0: launched alone
  int shared_limit;
  uint32_t graph;
};
// CUpti_ActivityMemcpy4 and later.
struct __attribute__((packed, aligned(8))) CopyRecord {
  int kind;
  uint8_t copy_kind;  // CUpti_ActivityMemcpyKind: 1 host to device, 2 device to host, 8 device to device, ...
  uint8_t from_kind, to_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation, padding;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};
// CUpti_ActivityMemset3 and later.
struct __attribute__((packed, aligned(8))) FillRecord {
  int kind;
  uint32_t value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};
// CUpti_ActivityAPI: a call of the driver or the runtime.
struct __attribute__((packed, aligned(8))) CallRecord {
  int kind;
  uint32_t function;  // CUpti_CallbackId
  uint64_t start, end;
  uint32_t process, thread, correlation, result;
};
// CUpti_ActivityExternalCorrelation: the call `correlation` was made while `external` was pushed.
struct __attribute__((packed, aligned(8))) ExternalRecord {
  int kind;
  int external_kind;
  uint64_t external;
  uint32_t correlation, reserved;
};

using RequestBuffer = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using CompleteBuffer = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid_bytes);

// name, parameters
#define DEEPGAP_CUPTI_FUNCTIONS(F)                                                        \
  F(cuptiGetVersion, (uint32_t * version))                                                \
  F(cuptiGetResultString, (Result result, const char** text))                             \
  F(cuptiGetTimestamp, (uint64_t * now))                                                  \
  F(cuptiActivityEnable, (int kind))                                                      \
  F(cuptiActivityDisable, (int kind))                                                     \
  F(cuptiActivityRegisterCallbacks, (RequestBuffer request, CompleteBuffer complete))     \
  F(cuptiActivityFlushAll, (uint32_t flag))                                               \
  F(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid_bytes, void** record))    \
  F(cuptiActivityGetNumDroppedRecords, (void* context, uint32_t stream, size_t* dropped)) \
  F(cuptiActivityPushExternalCorrelationId, (int kind, uint64_t id))                      \
  F(cuptiActivityPopExternalCorrelationId, (int kind, uint64_t* last))                    \
  F(cuptiGetCallbackName, (int domain, uint32_t function, const char** name))
// Those that CUDA 12.6 and later have: nullptr in older libraries. What each takes is in profiler_params.h.
#define DEEPGAP_CUPTI_PROFILER_FUNCTIONS(F)                       \
  F(cuptiProfilerHostInitialize, (void* params))                  \
  F(cuptiProfilerHostDeinitialize, (void* params))                \
  F(cuptiProfilerHostGetSupportedChips, (void* params))           \
  F(cuptiProfilerHostGetBaseMetrics, (void* params))              \
  F(cuptiProfilerHostConfigAddMetrics, (void* params))            \
  F(cuptiProfilerHostGetConfigImageSize, (void* params))          \
  F(cuptiProfilerHostGetConfigImage, (void* params))              \
  F(cuptiProfilerHostGetNumOfPasses, (void* params))              \
  F(cuptiProfilerHostEvaluateToGpuValues, (void* params))         \
  F(cuptiProfilerInitialize, (void* params))                      \
  F(cuptiProfilerDeInitialize, (void* params))                    \
  F(cuptiDeviceGetChipName, (void* params))                       \
  F(cuptiProfilerGetCounterAvailability, (void* params))          \
  F(cuptiRangeProfilerEnable, (void* params))                     \
  F(cuptiRangeProfilerDisable, (void* params))                    \
  F(cuptiRangeProfilerSetConfig, (void* params))                  \
  F(cuptiRangeProfilerStart, (void* params))                      \
  F(cuptiRangeProfilerStop, (void* params))                       \
  F(cuptiRangeProfilerPushRange, (void* params))                  \
  F(cuptiRangeProfilerPopRange, (void* params))                   \
  F(cuptiRangeProfilerDecodeData, (void* params))                 \
  F(cuptiRangeProfilerGetCounterDataSize, (void* params))         \
  F(cuptiRangeProfilerCounterDataImageInitialize, (void* params)) \
  F(cuptiRangeProfilerGetCounterDataInfo, (void* params))         \
  F(cuptiRangeProfilerCounterDataGetRangeInfo, (void* params))

struct Api {
// NOLINTBEGIN(bugprone-macro-parentheses): a list of parameters has its own
#define DEEPGAP_CUPTI_MEMBER(name, parameters) Result(*name) parameters = nullptr;
  DEEPGAP_CUPTI_FUNCTIONS(DEEPGAP_CUPTI_MEMBER)
  DEEPGAP_CUPTI_PROFILER_FUNCTIONS(DEEPGAP_CUPTI_MEMBER)
#undef DEEPGAP_CUPTI_MEMBER
  // NOLINTEND(bugprone-macro-parentheses)
  std::string path;  // path of the library
};

// Opened once a process and never closed. Looked for in this order: $DEEPGAP_CUPTI (a library), one that an engine has loaded, beside the
// CUDA runtime that an engine has loaded, beside the torch of $DEEPGAP_LIBTORCH or of deepgap's own libraries, a toolkit in $CUDA_HOME or
// /usr/local/cuda, the dynamic linker's paths. Throws Error{refused} saying where it was looked for.
const Api& api();

// Throws Error{refused} for a result other than success; `doing` completes "CUPTI says X while DOING".
void check(const Api& api, Result result, const std::string& doing);

}  // namespace deepgap::cupti
