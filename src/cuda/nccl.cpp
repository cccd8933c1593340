#include "cuda/nccl.h"

#include "cuda/find_library.h"
#include "cuda/library_folders.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap::cuda {
namespace {

constexpr int oldest_version = 21000;  // 2.10, which has averages

}  // namespace

Nccl open_nccl(const std::string& library) {
  const FoundLibrary opened = find_library({.title = "NCCL",
                                            .kind = "NVIDIA's library for several GPUs",
                                            .names = {"libnccl.so.2"},
                                            .variable = "DEEPGAP_NCCL",
                                            .package = "nvidia-nccl-cu13",
                                            .folders = library_folders()},
                                           library);
  Nccl made;
  made.path = opened.path;
#define DEEPGAP_NCCL_FIND(result, name, parameters) find_function(opened, "NCCL", #name, made.name);
  DEEPGAP_NCCL_FUNCTIONS(DEEPGAP_NCCL_FIND)
#undef DEEPGAP_NCCL_FIND
  int version = 0;
  made.ncclGetVersion(&version);
  if (version < oldest_version) throw Error(ErrorKind::refused, fmt::format("{} is too old: NCCL 2.10 is needed", made.path));
  return made;
}

const Nccl& nccl() {
  if (const Nccl* played = NcclStandIn::current()) return *played;
  static const Nccl instance = open_nccl({});
  return instance;
}

void check_nccl(NcclResult result, const std::string& doing) {
  if (result == 0) return;
  const char *text = nccl().ncclGetErrorString(result), *last = nccl().ncclGetLastError(nullptr);
  std::string message = fmt::format("NCCL says {} while {}", text == nullptr ? std::to_string(result) : text, doing);
  if (last != nullptr && *last != '\0') message += fmt::format(" ({})", last);
  throw Error(ErrorKind::internal, message);
}

}  // namespace deepgap::cuda
