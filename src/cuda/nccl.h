// NCCL, NVIDIA's library for what several GPUs compute together, as functions that are looked up at run time (libnccl.so.2), as the
// driver's are (driver.h): an engine with CUDA brings it, and a machine without gets a sentence. The types are its own, whose binary
// interface is stable since 2.10.
#pragma once

#include "cuda/driver.h"
#include "cuda/stand_in.h"

#include <cstddef>
#include <string>

namespace deepgap::cuda {

using NcclResult = int;                // ncclResult_t; 0 is success
using NcclRank = struct NcclRankTag*;  // ncclComm_t: this process among the ranks

// Identifies a group of ranks. One rank makes it and sends it to the others, so that they find each other.
struct NcclId {
  char bytes[128];
};

inline constexpr int nccl_float32 = 7, nccl_average = 4;  // ncclFloat32, ncclAvg

// result, name, parameters
#define DEEPGAP_NCCL_FUNCTIONS(F)                                                    \
  F(NcclResult, ncclGetVersion, (int* version))                                      \
  F(const char*, ncclGetErrorString, (NcclResult result))                            \
  F(const char*, ncclGetLastError, (NcclRank rank))                                  \
  F(NcclResult, ncclGetUniqueId, (NcclId * id))                                      \
  F(NcclResult, ncclCommInitRank, (NcclRank * made, int ranks, NcclId id, int rank)) \
  F(NcclResult, ncclCommAbort, (NcclRank rank))                                      \
  F(NcclResult, ncclGroupStart, ())                                                  \
  F(NcclResult, ncclGroupEnd, ())                                                    \
  F(NcclResult, ncclAllReduce, (const void* from, void* to, size_t count, int type, int operation, NcclRank rank, StreamHandle stream))

struct Nccl {
// NOLINTBEGIN(bugprone-macro-parentheses): a list of parameters has its own
#define DEEPGAP_NCCL_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  DEEPGAP_NCCL_FUNCTIONS(DEEPGAP_NCCL_MEMBER)
#undef DEEPGAP_NCCL_MEMBER
  // NOLINTEND(bugprone-macro-parentheses)
  std::string path;
};

// Opens the library once a process. Throws Error{refused} that lists where it looked, or says that it is too old.
const Nccl& nccl();

// Opens `library`; if empty, the one that engines and toolkits have, or that DEEPGAP_NCCL names.
Nccl open_nccl(const std::string& library);

// Throws Error{internal} for a result other than success; `doing` completes "... while DOING".
void check_nccl(NcclResult result, const std::string& doing);

using NcclStandIn = StandIn<Nccl>;  // for tests

}  // namespace deepgap::cuda
