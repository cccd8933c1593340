#include "base/confine.h"

#include "base/file.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace deepgap {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorKind::internal, fmt::format("cannot confine a reader ({}): {}", what, std::strerror(errno)));
}

void lower(int resource, const std::optional<uint64_t>& value, uint64_t hard_extra = 0) {
  rlimit now{};
  if (!value || ::getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return;
  now.rlim_cur = std::min<rlim_t>(now.rlim_cur, *value);
  now.rlim_max = std::min<rlim_t>(now.rlim_max, *value + hard_extra);
  if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) fail("a limit");
}

// Landlock. Debian 12's header ends at its second version; numbers of later ones are the kernel's.

struct LandlockRules {
  uint64_t files = 0, network = 0, scopes = 0;  // what is denied unless a rule allows it
};
constexpr uint64_t truncate_files = uint64_t{1} << 14;             // since version 3
constexpr uint64_t tcp = uint64_t{1} << 0 | uint64_t{1} << 1;      // bind and connect, since 4
constexpr uint64_t devices = uint64_t{1} << 15;                    // ioctl, since 5
constexpr uint64_t outside = uint64_t{1} << 0 | uint64_t{1} << 1;  // abstract sockets and signals, since 6

constexpr uint64_t writes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                            LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                            LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr uint64_t allowed_in_folders = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                        LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG;

LandlockRules rules_of(int version) {
  LandlockRules rules;
  rules.files = LANDLOCK_ACCESS_FS_EXECUTE | writes;
  if (version >= 2) rules.files |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rules.files |= truncate_files;
  if (version >= 4) rules.network = tcp;
  if (version >= 5) rules.files |= devices;
  if (version >= 6) rules.scopes = outside;
  return rules;
}

size_t size_of_rules(int version) { return version >= 6 ? 24 : version >= 4 ? 16 : 8; }

void allow(int ruleset, const char* path, uint64_t what) {
  const FileDescriptor file(::open(path, O_PATH | O_CLOEXEC));
  if (!file.valid()) return;
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return;
  if (!S_ISDIR(info.st_mode)) what &= LANDLOCK_ACCESS_FS_WRITE_FILE | truncate_files;
  landlock_path_beneath_attr beneath{};
  beneath.allowed_access = what;
  beneath.parent_fd = file.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) != 0) fail("Landlock's rule");
}

void put_up_landlock(int version, const std::vector<std::string>& writable) {
  const LandlockRules rules = rules_of(version);
  const FileDescriptor ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, size_of_rules(version), 0)));
  if (!ruleset.valid()) fail("Landlock");
  for (const std::string& folder : writable) {
    allow(ruleset.get(), folder.c_str(), (allowed_in_folders | LANDLOCK_ACCESS_FS_REFER | truncate_files) & rules.files);
  }
  allow(ruleset.get(), "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) fail("Landlock");
}

// Seccomp. The filter is plain BPF: another architecture ends the process, calls on the list fail, the rest passes.

constexpr std::array denied_calls{SYS_socket,
                                  SYS_socketpair,
                                  SYS_connect,
                                  SYS_bind,
                                  SYS_listen,
                                  SYS_accept,
                                  SYS_accept4,
                                  SYS_execve,
                                  SYS_execveat,
                                  SYS_ptrace,
                                  SYS_process_vm_readv,
                                  SYS_process_vm_writev,
                                  SYS_kill,
                                  SYS_tkill,
                                  SYS_rt_sigqueueinfo,
                                  SYS_rt_tgsigqueueinfo,
                                  SYS_pidfd_open,
                                  SYS_pidfd_getfd,
                                  SYS_pidfd_send_signal,
                                  SYS_io_uring_setup,
                                  SYS_io_uring_enter,
                                  SYS_io_uring_register,
                                  SYS_bpf,
                                  SYS_perf_event_open,
                                  SYS_add_key,
                                  SYS_request_key,
                                  SYS_keyctl,
                                  SYS_userfaultfd,
                                  SYS_mount,
                                  SYS_umount2,
                                  SYS_move_mount,
                                  SYS_open_tree,
                                  SYS_fsopen,
                                  SYS_fsconfig,
                                  SYS_fsmount,
                                  SYS_mount_setattr,
                                  SYS_pivot_root,
                                  SYS_chroot,
                                  SYS_setns,
                                  SYS_unshare,
                                  SYS_init_module,
                                  SYS_finit_module,
                                  SYS_delete_module,
                                  SYS_kexec_load,
                                  SYS_kexec_file_load,
                                  SYS_reboot,
                                  SYS_swapon,
                                  SYS_swapoff,
                                  SYS_open_by_handle_at,
                                  SYS_personality,
                                  SYS_iopl,
                                  SYS_ioperm,
                                  SYS_settimeofday,
                                  SYS_clock_settime};
constexpr uint32_t x32_bit = 0x40000000;

constexpr sock_filter jump(uint16_t how, uint32_t value, uint8_t yes, uint8_t no) {
  return {static_cast<uint16_t>(BPF_JMP | how | BPF_K), yes, no, value};
}
constexpr sock_filter load(uint32_t offset) { return {BPF_LD | BPF_W | BPF_ABS, 0, 0, offset}; }
constexpr sock_filter answer(uint32_t value) { return {BPF_RET | BPF_K, 0, 0, value}; }

std::vector<sock_filter> filter() {
  constexpr uint32_t deny = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> program{load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
                                   answer(SECCOMP_RET_KILL_PROCESS),   load(offsetof(seccomp_data, nr)),
                                   jump(BPF_JGE, x32_bit, 0, 1),       answer(deny)};
  for (const long call : denied_calls) {
    program.push_back(jump(BPF_JEQ, static_cast<uint32_t>(call), 0, 1));
    program.push_back(answer(deny));
  }
  program.push_back(answer(SECCOMP_RET_ALLOW));
  return program;
}

void put_up_seccomp() {
  std::vector<sock_filter> program = filter();
  const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &whole) != 0) fail("seccomp");
}

}  // namespace

Walls walls_of_this_kernel() {
  Walls walls;
  if (sanitized) return {0, "not under a sanitizer", "not under a sanitizer"};
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  walls.landlock_version = static_cast<int>(std::max(version, 0L));
  if (version < 1)
    walls.no_landlock = errno == ENOSYS       ? "the kernel does not support it (it came with Linux 5.13)"
                        : errno == EOPNOTSUPP ? "it is switched off (the kernel's parameter lsm=)"
                                              : std::strerror(errno);
  const uint32_t action = SECCOMP_RET_ERRNO;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) walls.no_seccomp = "the kernel has no filters";
  return walls;
}

Walls confine(const Confinement& confinement) {
  Walls walls = walls_of_this_kernel();
  if (sanitized) return walls;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no new privileges");
  if (walls.no_landlock.empty()) put_up_landlock(walls.landlock_version, confinement.writable);
  if (walls.no_seccomp.empty()) put_up_seccomp();
  lower(RLIMIT_DATA, confinement.data_bytes);
  lower(RLIMIT_CPU, confinement.cpu_seconds, 1);
  lower(RLIMIT_FSIZE, confinement.file_bytes);
  lower(RLIMIT_NOFILE, confinement.descriptors);
  lower(RLIMIT_CORE, 0);
  return walls;
}

std::string too_much_memory() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "more memory than there is";
  return fmt::format("more than the {} of memory that it may take", format_bytes(static_cast<double>(limit.rlim_cur)));
}

}  // namespace deepgap
