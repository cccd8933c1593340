#include "base/subprocess.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <thread>

namespace deepgap {
namespace {

struct Pair {
  FileDescriptor parent, child;
};

[[noreturn]] void fail(const std::string& program, int error) {
  throw Error(ErrorKind::internal, fmt::format("cannot start {}: {}", program, std::strerror(error)));
}

Pair make_pipe(const std::string& program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(program, errno);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Pair make_channel(const std::string& program) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail(program, errno);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (added.count(std::string(text.substr(0, text.find('=')))) == 0) merged.emplace_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Everything that the child needs between fork and exec, where only async-signal-safe calls are allowed: it is made before.
struct ChildPlan {
  pid_t parent;
  const char* program;
  char** argv;
  char** envp;
  int output, channel, report;
  std::optional<rlimit> data, cpu;
};

void limit(int resource, const std::optional<rlimit>& value) {
  if (value) ::setrlimit(static_cast<__rlimit_resource_t>(resource), &*value);
}

// Runs in the child; returns errno when exec failed.
int become(const ChildPlan& plan) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (::getppid() != plan.parent) ::_exit(127);  // the parent died before we asked to die with it
  ::setpgid(0, 0);
  // Handlers go with exec, ignored signals and the mask would stay; what nohup has ignored shall.
  for (int number : {SIGPIPE, SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // First out of the way of 0 to 3, which any of them may have.
  const int output = ::fcntl(plan.output, F_DUPFD_CLOEXEC, 10);
  const int channel = plan.channel < 0 ? -1 : ::fcntl(plan.channel, F_DUPFD_CLOEXEC, 10);
  const int report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, 10);
  const int null = ::open("/dev/null", O_RDONLY);
  if (output < 0 || report < 0 || null < 0) return errno;
  if (::dup2(null, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) return errno;
  if (channel >= 0 && ::dup2(channel, channel_descriptor) < 0) return errno;
  // Everything else goes; `report` must live until exec closes it.
  const unsigned first = channel >= 0 ? channel_descriptor + 1 : channel_descriptor;
  ::close_range(first, static_cast<unsigned>(report) - 1, 0);
  ::close_range(static_cast<unsigned>(report) + 1, UINT_MAX, 0);
  limit(RLIMIT_DATA, plan.data);
  limit(RLIMIT_CPU, plan.cpu);
  ::execve(plan.program, plan.argv, plan.envp);
  const int error = errno;
  const ssize_t written = ::write(report, &error, sizeof(error));
  ::_exit(written == sizeof(error) ? 127 : 126);
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  const int error = become(plan);
  const ssize_t written = ::write(plan.report, &error, sizeof(error));
  ::_exit(written == sizeof(error) ? 127 : 126);
}

rlimit own_limit(int resource) {
  rlimit own{RLIM_INFINITY, RLIM_INFINITY};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &own);
  return own;
}

std::optional<rlimit> limit_of(int resource, const std::optional<uint64_t>& value, uint64_t hard_extra, bool lifted) {
  if (!value) return std::nullopt;
  return rlimit{*value, lifted ? own_limit(resource).rlim_max : *value + hard_extra};
}

}  // namespace

std::string ExitState::describe() const {
  if (signal == 0) return fmt::format("exit code {}", code);
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("killed by signal {}", signal) : fmt::format("killed by SIG{}", name);
}

Subprocess::Subprocess(const SubprocessOptions& options) : tail_limit_(options.output_tail_bytes) {
  Pair output = make_pipe(options.program);
  Pair report = make_pipe(options.program);
  Pair channel = options.channel ? make_channel(options.program) : Pair{};
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = merged_environment(options.environment);
  std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  const ChildPlan plan{::getpid(),
                       options.program.c_str(),
                       argv.data(),
                       envp.data(),
                       output.child.get(),
                       channel.child.get(),
                       report.child.get(),
                       limit_of(RLIMIT_DATA, options.data_bytes, 0, options.limits_are_lifted),
                       limit_of(RLIMIT_CPU, options.cpu_seconds, 1, options.limits_are_lifted)};
  pid_ = ::fork();
  if (pid_ < 0) fail(options.program, errno);
  if (pid_ == 0) run_child(plan);
  ::setpgid(pid_, pid_);  // both sides do it, so that it is done whoever comes first
  output.child.close();
  report.child.close();
  channel.child.close();
  output_ = std::move(output.parent);
  channel_ = std::move(channel.parent);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  int error = 0;
  ssize_t count;
  do {
    count = ::read(report.parent.get(), &error, sizeof(error));  // exec closes the other end
  } while (count < 0 && errno == EINTR);
  if (count == sizeof(error)) {
    ::waitpid(pid_, nullptr, 0);
    fail(options.program, error);
  }
}

Subprocess::~Subprocess() {
  if (exit_) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Subprocess::drain_output() {
  std::array<char, 16384> buffer{};
  while (output_.valid()) {
    const ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) {
      output_.close();
      break;
    }
    tail_.append(buffer.data(), static_cast<size_t>(count));
    if (tail_.size() > 2 * tail_limit_) {
      tail_.erase(0, tail_.size() - tail_limit_);
      tail_cut_ = true;
    }
  }
  return false;
}

std::string Subprocess::output_tail() const {
  std::string_view tail = tail_;
  const bool cut = tail_cut_ || tail.size() > tail_limit_;
  if (tail.size() > tail_limit_) tail.remove_prefix(tail.size() - tail_limit_);
  const size_t line = tail.find('\n');
  if (cut && line != std::string_view::npos && line + 1 < tail.size()) tail.remove_prefix(line + 1);
  return std::string(tail);
}

void Subprocess::lift_limits() {
  if (poll_exit()) return;
  for (const auto resource : {RLIMIT_DATA, RLIMIT_CPU}) {
    const rlimit own = own_limit(resource);
    ::prlimit(pid_, resource, &own, nullptr);
  }
}

void Subprocess::send_signal(int number) {
  // Unreaped, the process id is still the child's.
  if (!poll_exit()) ::kill(pid_, number);
}

std::optional<ExitState> Subprocess::poll_exit() {
  if (exit_) return exit_;
  int status = 0;
  const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
  if (reaped != pid_) return std::nullopt;
  exit_ = WIFSIGNALED(status) ? ExitState{0, WTERMSIG(status)} : ExitState{WEXITSTATUS(status), 0};
  drain_output();
  return exit_;
}

std::optional<ExitState> Subprocess::wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  auto pause = std::chrono::microseconds(200);
  while (true) {
    drain_output();
    if (const auto state = poll_exit()) return state;
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10'000));
  }
}

}  // namespace deepgap
