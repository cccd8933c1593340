#include "run/interrupts.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace deepgap {
namespace {

constexpr std::array<int, 3> signals{SIGINT, SIGTERM, SIGHUP};

// State that a handler may touch: lock-free and outliving every Interrupts.
std::atomic<int> interrupt_count{0};
std::atomic<int> last_signal{0};
std::atomic<int> wake_descriptor{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  const int saved = errno;
  last_signal.store(number);
  interrupt_count.fetch_add(1);
  const int descriptor = wake_descriptor.load();
  if (descriptor >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(descriptor, "!", 1);  // a full pipe is readable already
  }
  errno = saved;
}

}  // namespace

Interrupts::Interrupts() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Error(ErrorKind::internal, "cannot make a pipe for signals");
  read_end_ = FileDescriptor(ends[0]);
  write_end_ = FileDescriptor(ends[1]);
  interrupt_count.store(0);
  wake_descriptor.store(write_end_.get());
  struct sigaction action {};
  action.sa_handler = on_signal;  // without SA_RESTART, so that what blocks wakes up
  for (size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &action, nullptr);  // nohup, or a shell's `&`: it stays ignored
  }
}

Interrupts::~Interrupts() {
  for (size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  wake_descriptor.store(-1);
}

int Interrupts::count() const { return interrupt_count.load(); }

// Only Ctrl-C is the user's doing: a time limit or a scheduler sends SIGTERM, and a terminal that closes SIGHUP.
std::string Interrupts::words() const {
  switch (last_signal.load()) {
    case SIGTERM:
      return "ended by SIGTERM";
    case SIGHUP:
      return "ended by SIGHUP";
    default:
      return "interrupted by the user";
  }
}

void Interrupts::clear_descriptor() {
  std::array<char, 64> buffer{};
  while (::read(read_end_.get(), buffer.data(), buffer.size()) > 0) {
  }
}

}  // namespace deepgap
