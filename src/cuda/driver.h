// NVIDIA's driver as functions that are looked up at run time (libcuda.so.1), so that nothing of ours is linked to CUDA and a machine
// without a driver gets a sentence. The types are the driver's, whose binary interface is stable; they are declared here because its
// headers come with a toolkit alone. driver_test.cpp holds them against a toolkit's where there is one.
#pragma once

#include "cuda/stand_in.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace deepgap::cuda {

using Result = int;  // CUresult; 0 is success
using Device = int;
using Address = unsigned long long;  // CUdeviceptr
using Context = struct ContextTag*;
using ModuleHandle = struct ModuleTag*;
using Function = struct FunctionTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using GraphHandle = struct GraphTag*;
using GraphExec = struct GraphExecTag*;
using GraphNode = struct GraphNodeTag*;

// A tensor's shape and tile as TMA reads them; filled by cuTensorMapEncodeTiled, passed to kernels by value.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

struct LaunchAttribute {
  int id;
  int padding;
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int flag;
  } value;
};
inline constexpr int attribute_cluster = 4;       // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
inline constexpr int attribute_programmatic = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNode {
  Function function;
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;
  Context context;
};

// CUmemcpyAttributes: when the bytes of a copy may be read, and where they lie if that is not fixed.
struct CopyAttributes {
  int source_order;
  int source_place[2], target_place[2];
  unsigned flags;
};
inline constexpr int source_in_stream_order = 1;  // CU_MEMCPY_SRC_ACCESS_ORDER_STREAM

// name, parameters. Those with a version in their symbol have it here too.
#define DEEPGAP_CUDA_FUNCTIONS(F)                                                                                                         \
  F(cuInit, (unsigned flags))                                                                                                             \
  F(cuDriverGetVersion, (int* version))                                                                                                   \
  F(cuGetErrorName, (Result result, const char** name))                                                                                   \
  F(cuGetErrorString, (Result result, const char** text))                                                                                 \
  F(cuDeviceGetCount, (int* count))                                                                                                       \
  F(cuDeviceGet, (Device * device, int ordinal))                                                                                          \
  F(cuDeviceGetName, (char* name, int length, Device device))                                                                             \
  F(cuDeviceTotalMem_v2, (size_t * bytes, Device device))                                                                                 \
  F(cuDeviceGetAttribute, (int* value, int attribute, Device device))                                                                     \
  F(cuDeviceGetPCIBusId, (char* address, int length, Device device))                                                                      \
  F(cuDeviceCanAccessPeer, (int* possible, Device device, Device peer))                                                                   \
  F(cuDevicePrimaryCtxRetain, (Context * context, Device device))                                                                         \
  F(cuDevicePrimaryCtxRelease_v2, (Device device))                                                                                        \
  F(cuCtxSetCurrent, (Context context))                                                                                                   \
  F(cuCtxGetDevice, (Device * device))                                                                                                    \
  F(cuCtxEnablePeerAccess, (Context peer, unsigned flags))                                                                                \
  F(cuCtxSynchronize, ())                                                                                                                 \
  F(cuMemGetInfo_v2, (size_t * free, size_t * total))                                                                                     \
  F(cuMemAlloc_v2, (Address * address, size_t bytes))                                                                                     \
  F(cuMemFree_v2, (Address address))                                                                                                      \
  F(cuMemHostAlloc, (void** address, size_t bytes, unsigned flags))                                                                       \
  F(cuMemFreeHost, (void* address))                                                                                                       \
  F(cuMemcpyHtoD_v2, (Address to, const void* from, size_t bytes))                                                                        \
  F(cuMemcpyDtoH_v2, (void* to, Address from, size_t bytes))                                                                              \
  F(cuMemcpyHtoDAsync_v2, (Address to, const void* from, size_t bytes, StreamHandle stream))                                              \
  F(cuMemcpyBatchAsync_v2, (Address * to, Address * from, size_t * bytes, size_t count, CopyAttributes * attributes, size_t * first,      \
                            size_t attribute_count, StreamHandle stream))                                                                 \
  F(cuMemcpyDtoHAsync_v2, (void* to, Address from, size_t bytes, StreamHandle stream))                                                    \
  F(cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, StreamHandle stream))                                                  \
  F(cuMemcpyPeerAsync, (Address to, Context to_context, Address from, Context from_context, size_t bytes, StreamHandle stream))           \
  F(cuMemsetD8Async, (Address to, unsigned char value, size_t bytes, StreamHandle stream))                                                \
  F(cuStreamCreate, (StreamHandle * stream, unsigned flags))                                                                              \
  F(cuStreamDestroy_v2, (StreamHandle stream))                                                                                            \
  F(cuStreamSynchronize, (StreamHandle stream))                                                                                           \
  F(cuStreamWaitEvent, (StreamHandle stream, EventHandle event, unsigned flags))                                                          \
  F(cuStreamBeginCapture_v2, (StreamHandle stream, int mode))                                                                             \
  F(cuStreamEndCapture, (StreamHandle stream, GraphHandle * graph))                                                                       \
  F(cuEventCreate, (EventHandle * event, unsigned flags))                                                                                 \
  F(cuEventDestroy_v2, (EventHandle event))                                                                                               \
  F(cuEventRecord, (EventHandle event, StreamHandle stream))                                                                              \
  F(cuEventQuery, (EventHandle event))                                                                                                    \
  F(cuEventSynchronize, (EventHandle event))                                                                                              \
  F(cuEventElapsedTime, (float* ms, EventHandle from, EventHandle to))                                                                    \
  F(cuModuleLoadData, (ModuleHandle * module, const void* image))                                                                         \
  F(cuModuleUnload, (ModuleHandle module))                                                                                                \
  F(cuModuleGetFunction, (Function * function, ModuleHandle module, const char* name))                                                    \
  F(cuFuncGetAttribute, (int* value, int attribute, Function function))                                                                   \
  F(cuFuncSetAttribute, (Function function, int attribute, int value))                                                                    \
  F(cuLaunchKernelEx, (const LaunchConfig* config, Function function, void** parameters, void** extra))                                   \
  F(cuGraphInstantiateWithFlags, (GraphExec * exec, GraphHandle graph, unsigned long long flags))                                         \
  F(cuGraphLaunch, (GraphExec exec, StreamHandle stream))                                                                                 \
  F(cuStreamGetCaptureInfo_v2,                                                                                                            \
    (StreamHandle stream, int* status, uint64_t* id, GraphHandle* graph, const GraphNode** last, size_t* count))                          \
  F(cuGraphExecKernelNodeSetParams_v2, (GraphExec exec, GraphNode node, const KernelNode* kernel))                                        \
  F(cuGraphExecDestroy, (GraphExec exec))                                                                                                 \
  F(cuGraphDestroy, (GraphHandle graph))                                                                                                  \
  F(cuTensorMapEncodeTiled, (TensorMap * map, int type, unsigned rank, void* address, const uint64_t* sizes, const uint64_t* strides,     \
                             const unsigned* box, const unsigned* element_strides, int interleave, int swizzle, int promotion, int fill)) \
  F(cuTensorMapEncodeIm2col, (TensorMap * map, int type, unsigned rank, void* address, const uint64_t* sizes, const uint64_t* strides,    \
                              const int* lower_corner, const int* upper_corner, unsigned channels, unsigned pixels,                       \
                              const unsigned* element_strides, int interleave, int swizzle, int promotion, int fill))

struct Driver {
// NOLINTBEGIN(bugprone-macro-parentheses): a list of parameters has its own
#define DEEPGAP_CUDA_MEMBER(name, parameters) Result(*name) parameters = nullptr;
  DEEPGAP_CUDA_FUNCTIONS(DEEPGAP_CUDA_MEMBER)
#undef DEEPGAP_CUDA_MEMBER
  // NOLINTEND(bugprone-macro-parentheses)
};

// Opened and initialised once a process; cuTensorMap* are nullptr with drivers before 12, cuMemcpyBatchAsync_v2 before 13. Throws
// Error{refused} saying what is missing.
const Driver& driver();

// Throws for a result other than success: Error{out_of_memory}, Error{device_lost} (the process cannot use the device any more), else
// Error{internal}. `doing` completes "... while DOING".
void check(Result result, const std::string& doing);
// "CUDA_ERROR_X: text".
std::string describe(Result result);

// Opens the library; `library` empty: libcuda.so.1. Throws Error{refused} if it is missing or lacks a function.
Driver open_driver(const std::string& library);
// Initialises the driver. Throws Error{refused} saying what is missing: a GPU, a driver that is new enough.
void start(const Driver& opened);

using DriverStandIn = StandIn<Driver>;  // for tests

}  // namespace deepgap::cuda
