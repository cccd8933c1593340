// For an sshd that was unpacked and not installed, preloaded: it begins as root only where there is a user `sshd`, whom its unprivileged
// half becomes. Where there is none, `nobody` stands for that user.
#include <dlfcn.h>
#include <pwd.h>

#include <cstring>

extern "C" passwd* getpwnam(const char* name) {
  static const auto real = reinterpret_cast<passwd* (*)(const char*)>(::dlsym(RTLD_NEXT, "getpwnam"));
  passwd* found = real(name);
  return found == nullptr && std::strcmp(name, "sshd") == 0 ? real("nobody") : found;
}
