#include "fleet/lanes.h"

#include "base/text.h"
#include "fleet/task.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

namespace deepgap {
namespace {

constexpr int most_tries = 3;  // tries for a task by one waiting process
constexpr auto pause = std::chrono::milliseconds(100);

std::string lock_of_task(const Fleet& fleet, int task) { return fmt::format("{}/tasks/{:06}.lock", fleet.folder, task); }
std::string lock_of_lane(const Fleet& fleet, const std::string& lane) {
  std::string name = lane;
  for (char& letter : name) letter = letter == '/' ? '_' : letter;
  return fmt::format("{}/tasks/lane-{}.lock", fleet.folder, name);
}

}  // namespace

FileDescriptor try_lock(const std::string& path, const std::string& content) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid()) throw Error(ErrorKind::input, fmt::format("cannot lock {}: {}", path, std::strerror(errno)));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
  if (!content.empty() && ::ftruncate(file.get(), 0) == 0 && ::write(file.get(), content.data(), content.size()) < 0) {
    // The name is for people; the lock counts.
  }
  return file;
}

std::vector<std::string> LaneScheduler::check(const Fleet& /*fleet*/) { return {}; }

void LaneScheduler::submit(const Fleet& /*fleet*/, const std::vector<int>& tasks) {
  for (const int task : tasks) tries_.erase(task);
}

std::vector<QueuedTask> LaneScheduler::list(const Fleet& fleet) {
  std::vector<QueuedTask> queue;
  const bool cancelled = is_cancelled(fleet);
  for (int task = 0; task < static_cast<int>(fleet.tasks.size()); ++task) {
    if (done_[task]) continue;
    QueuedTask queued{task, QueuedTask::State::waiting, {}, {}};
    std::error_code error;
    if (std::filesystem::exists(lock_of_task(fleet, task), error) && !try_lock(lock_of_task(fleet, task)).valid()) {
      queued.state = QueuedTask::State::running;
      queued.node = trim(read_text(lock_of_task(fleet, task)));
    } else if (cancelled || is_tried_often(task)) {
      continue;
    } else {
      queued.reason = "waits for a lane, and for a running `deepgap fleet wait`";
    }
    queue.push_back(queued);
  }
  return queue;
}

void LaneScheduler::cancel(const Fleet& /*fleet*/) {}  // who waits sees the mark

bool LaneScheduler::is_tried_often(int task) const {
  const auto tries = tries_.find(task);
  return tries != tries_.end() && tries->second >= most_tries;
}

bool LaneScheduler::begin(const Fleet& fleet, const std::string& lane) {
  FileDescriptor lane_lock = try_lock(lock_of_lane(fleet, lane));
  if (!lane_lock.valid()) return false;
  for (int task = 0; task < static_cast<int>(fleet.tasks.size()); ++task) {
    if (done_[task] || is_tried_often(task)) continue;
    FileDescriptor task_lock = try_lock(lock_of_task(fleet, task), lane);
    if (!task_lock.valid()) continue;
    if (is_done(read_attempts(fleet, task))) {
      done_[task] = true;
      continue;
    }
    ++tries_[task];
    Running& running = running_[lane];
    running = {task, std::move(lane_lock), std::move(task_lock), std::make_unique<Subprocess>(command(fleet, lane, task))};
    return true;
  }
  return false;
}

bool LaneScheduler::end_if_over(const Fleet& fleet, const std::string& lane, Running& running) {
  running.process->drain_output();
  const auto exit = running.process->poll_exit();
  if (!exit) return false;
  running.process->drain_output();
  try {
    write_file_atomic(fleet.log_of(running.task), running.process->output_tail());
  } catch (const Error&) {
    // A full disk; what counts is handed in or not.
  }
  ended(fleet, lane, running.task);
  done_[running.task] = is_done(read_attempts(fleet, running.task));
  if (exit->code == task_goes_on) --tries_[running.task];  // it was ended in order
  return true;
}

void LaneScheduler::wait(const Fleet& fleet, const std::function<bool()>& interrupted) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  do {
    for (auto entry = running_.begin(); entry != running_.end();)
      entry = end_if_over(fleet, entry->first, entry->second) ? running_.erase(entry) : std::next(entry);
    const bool stops = is_cancelled(fleet);
    for (auto& [lane, running] : running_) {
      if (stops && !running.asked_to_end) running.process->send_signal(SIGTERM);
      running.asked_to_end |= stops;
    }
    for (const std::string& lane : lanes(fleet)) {
      if (!stops && !interrupted() && running_.count(lane) == 0) begin(fleet, lane);
    }
    if (running_.empty() || interrupted()) return;
    std::this_thread::sleep_for(pause);
  } while (std::chrono::steady_clock::now() < until);
}

void LaneScheduler::leave(const Fleet& fleet) {
  for (auto& [lane, running] : running_) running.process->send_signal(SIGTERM);
  for (auto& [lane, running] : running_) {
    running.process->wait(std::chrono::seconds(60));
    if (!end_if_over(fleet, lane, running)) running.process.reset();  // killed
  }
  running_.clear();
}

bool is_cancelled(const Fleet& fleet) { return ::access((fleet.folder + "/cancelled").c_str(), F_OK) == 0; }

void mark_cancelled(const Fleet& fleet, bool cancelled) {
  const std::string path = fleet.folder + "/cancelled";
  cancelled ? write_file_atomic(path, "") : static_cast<void>(::unlink(path.c_str()));
}

}  // namespace deepgap
