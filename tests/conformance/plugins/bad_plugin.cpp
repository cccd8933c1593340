// Plug-ins that must not be used, one for each definition: what `deepgap backends` says of them is tested by backends_command.sh.
#include <deepgap/backend.h>

#include <csignal>
#include <cstdio>

namespace {

deepgap::Backend* make() {
#if defined(DEEPGAP_BAD_THROWS)
  throw deepgap::Error(deepgap::ErrorKind::refused, "its library is not here");
#elif defined(DEEPGAP_BAD_CRASHES)
  std::fputs("the last words of a plug-in\n", stderr);
  std::raise(SIGSEGV);
#endif
  return nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const deepgap::BackendEntry deepgap_backend;
#if defined(DEEPGAP_BAD_ABI)
const deepgap::BackendEntry deepgap_backend{deepgap::backend_abi + 1, DEEPGAP_BUILD_TAG, make};
#elif defined(DEEPGAP_BAD_TAG)
const deepgap::BackendEntry deepgap_backend{deepgap::backend_abi, "another compiler", make};
#else
const deepgap::BackendEntry deepgap_backend{deepgap::backend_abi, DEEPGAP_BUILD_TAG, make};
#endif
