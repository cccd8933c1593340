// Shared by all fuzz targets. A target may reject its input by an Error of one line; anything else that is thrown, and every finding of the
// sanitizers, ends it.
#pragma once

#include <deepgap/error.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace deepgap::fuzz {

inline bool is_refusal(const Error& error) {
  return error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage || error.kind() == ErrorKind::refused;
}

// Returns whether `action` ended without an Error.
template <typename Action>
bool accepts(const Action& action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    const std::string_view line = error.what();
    if (is_refusal(error) && line.find('\n') == std::string_view::npos && !line.empty()) return false;
    std::fprintf(stderr, "an Error of another kind, or of several lines: %s\n", error.what());
    std::abort();
  }
}

inline std::string_view text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// Reports at the end how many inputs came how far.
class Share {
 public:
  explicit Share(const char* what) : what_(what) {}
  ~Share() {
    if (all_ > 0)
      std::fprintf(stderr, "share: %s: %lu of %lu (%.1f %%)\n", what_, reached_, all_,
                   100.0 * static_cast<double>(reached_) / static_cast<double>(all_));
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  void count(bool reached) {
    ++all_;
    if (reached) ++reached_;
  }

 private:
  const char* what_;
  unsigned long all_ = 0, reached_ = 0;
};

}  // namespace deepgap::fuzz
