// Opens grpc.so.
#include "backends/kserve/grpc_protocol.h"
#include "base/own_libraries.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <optional>

namespace deepgap {
namespace {

constexpr const char* instead = "use the server's http:// address";

std::optional<std::string> module_path() {
  static const int anchor = 0;
  for (const std::string& folder : own_plugin_folders(&anchor)) {
    std::string module = folder + "/kserve/grpc.so";
    std::error_code error;
    if (std::filesystem::is_regular_file(module, error)) return module;
  }
  return std::nullopt;
}

const GrpcProtocol& open_module() {
  const auto path = module_path();
  if (!path)
    throw Error(ErrorKind::refused,
                fmt::format("kserve: this deepgap was built without gRPC; install libgrpc++-dev and build again, or {}", instead));
  // The module itself is bound at once (it is linked so), the thousands of symbols of gRPC's libraries as they are called.
  void* const module = ::dlopen(path->c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) throw Error(ErrorKind::refused, fmt::format("kserve: gRPC does not load: {}; or {}", ::dlerror(), instead));
  const auto* const protocol = static_cast<const GrpcProtocol*>(::dlsym(module, "deepgap_kserve_grpc"));
  if (protocol == nullptr || protocol->abi != backend_abi)
    throw Error(ErrorKind::refused, fmt::format("kserve: {} is not of this deepgap; build or install again, or {}", *path, instead));
  return *protocol;
}

}  // namespace

const GrpcProtocol& grpc_protocol() {
  static const GrpcProtocol& protocol = open_module();
  return protocol;
}

std::string grpc_version() { return module_path() ? "gRPC " DEEPGAP_GRPC_VERSION : "without gRPC"; }

}  // namespace deepgap
