#include "run/run_study.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

namespace deepgap {

std::string default_cache_dir() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/deepgap";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/deepgap";
  return fmt::format("/tmp/deepgap-cache-{}", ::getuid());
}

}  // namespace deepgap
