// Confinement of a process that reads what nobody vouches for: files may be made to take a reader over, and then it shall reach nothing.
//
// Limits end what takes too much; walls keep from what no reader needs. With Landlock the process writes in the named folders alone, runs
// no program, opens no TCP connection and signals nobody outside. With a seccomp filter it makes no socket, and no call that traces,
// mounts, loads code into the kernel or starts another program. Reading stays as it was. A denied call fails with EACCES or EPERM. It
// cannot be undone, and threads made before keep their rights: call it first. Supports Linux on x86-64; measures that the kernel lacks are
// left out and reported.
//
// Not for what loads engines: they compile, cache where they like, and talk to drivers (docs/reference/security.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct Confinement {
  std::optional<uint64_t> data_bytes;   // RLIMIT_DATA
  std::optional<uint64_t> cpu_seconds;  // RLIMIT_CPU: SIGXCPU, then SIGKILL a second later
  std::optional<uint64_t> file_bytes;   // RLIMIT_FSIZE: SIGXFSZ, or EFBIG where that is ignored
  std::optional<uint64_t> descriptors;  // RLIMIT_NOFILE
  std::vector<std::string> writable;    // folders below which files may be made, changed and removed; those that are not there do not count
};

// The reason why a wall is missing; empty where it stands.
struct Walls {
  int landlock_version = 0;  // version of the kernel's interface
  std::string no_landlock, no_seccomp;
};
// Returns what confine() could use here, without confining. Any thread.
Walls walls_of_this_kernel();

// Confines this process from now on. Limits that are set lower already stay. A sanitizer needs what is denied: under one, both walls are
// only reported as missing. Throws Error{internal} where a wall that the kernel has cannot be put up.
Walls confine(const Confinement& confinement);

// Returns words for "it needs ...": "more than the 8.0 GiB of memory that it may take" if this process's data are limited, else "more
// memory than there is".
std::string too_much_memory();

// Limits of a child that only looks at files and answers over its channel.
inline constexpr uint64_t reader_file_bytes = 0;  // it writes none
inline constexpr uint64_t reader_descriptors = 256;

}  // namespace deepgap
