// Probe `slices`: how long the threads of this process could have run but had to wait for a CPU, and how often one was taken from them.
// Read several times as often as the other probes, so that a measured window can be cut into slices with and without disturbance. The
// waiting is the second number of /proc/self/task/*/schedstat (the kernel's Documentation/scheduler/sched-stats.rst), in nanoseconds. It
// grows when a thread that has waited gets its CPU: a wait that ends within a slice may have begun before it. Files stay open, so that a
// reading costs a microsecond a thread.
#include "base/text.h"
#include "telemetry/probe.h"
#include "telemetry/reading_threads.h"
#include "telemetry/system_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace deepgap {
namespace {

constexpr const char* tasks_path = "/proc/self/task";

// One thread's file, open for as long as the thread lives.
class TaskFile {
 public:
  explicit TaskFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  TaskFile(const TaskFile&) = delete;
  TaskFile& operator=(const TaskFile&) = delete;
  TaskFile(TaskFile&& other) noexcept : file_(std::exchange(other.file_, -1)), waited_ns_(other.waited_ns_) {}
  ~TaskFile() {
    if (file_ >= 0) ::close(file_);
  }

  // False: the thread has ended, or the file says nothing.
  bool read() {
    std::array<char, 128> text{};
    const ssize_t length = file_ < 0 ? -1 : ::pread(file_, text.data(), text.size(), 0);
    if (length <= 0) return false;
    const std::vector<std::string> words = split(trim(std::string_view(text.data(), static_cast<size_t>(length))), ' ');
    const auto waited = words.size() < 2 ? std::nullopt : parse_int(words[1]);
    if (!waited) return false;
    waited_ns_ = *waited;
    return true;
  }
  int64_t waited_ns() const { return waited_ns_; }  // at the last reading that succeeded

 private:
  int file_;
  int64_t waited_ns_ = 0;
};

class SlicesProbe final : public Probe {
 public:
  std::string name() const override { return "slices"; }
  bool sees_slices() const override { return true; }

  std::optional<std::string> open(const TelemetrySettings& settings) override {
    root_ = SystemRoot(settings.root);
    series_ = {{"slices", "run_delay", "s", true, {}, {}}, {"slices", "preemptions", "1", true, {}, {}}};
    find_tasks();
    if (tasks_.empty()) return fmt::format("no readable {}/*/schedstat", tasks_path);
    return std::nullopt;
  }

  void read(Nanoseconds now) override {
    if (thread_count() != counted_) find_tasks();
    bool ended = false;
    int64_t waited_ns = of_ended_ns_;
    for (auto& [id, task] : tasks_) {
      ended = !task.read() || ended;
      waited_ns += task.waited_ns();
    }
    append(0, now, static_cast<double>(waited_ns) / 1e9);
    if (ended) find_tasks();
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0) append(1, now, static_cast<double>(usage.ru_nivcsw));
  }

  const std::vector<Series>& series() const override { return series_; }

 private:
  void append(size_t row, Nanoseconds now, double value) {
    series_[row].times.push_back(now);
    series_[row].values.push_back(value);
  }

  // procfs counts a link for each thread, which is asked sooner than the folder is listed.
  int64_t thread_count() const {
    struct stat about {};
    return ::stat(root_.resolve(tasks_path).c_str(), &about) == 0 ? static_cast<int64_t>(about.st_nlink) : -1;
  }

  // The waiting time of ended threads stays in the sum, which therefore never falls.
  void find_tasks() {
    counted_ = thread_count();
    std::map<int, TaskFile> found;
    for (const std::string& name : root_.list(tasks_path)) {
      const auto id = parse_int(name);
      if (!id || is_reading_thread(static_cast<int>(*id))) continue;
      const auto known = tasks_.find(static_cast<int>(*id));
      TaskFile task =
          known != tasks_.end() ? std::move(known->second) : TaskFile(root_.resolve(fmt::format("{}/{}/schedstat", tasks_path, name)));
      if (known != tasks_.end()) tasks_.erase(known);
      if (task.read()) {
        found.emplace(static_cast<int>(*id), std::move(task));
      } else {
        of_ended_ns_ += task.waited_ns();
      }
    }
    for (const auto& [id, task] : tasks_) of_ended_ns_ += task.waited_ns();
    tasks_ = std::move(found);
  }

  SystemRoot root_{"/"};
  std::map<int, TaskFile> tasks_;  // by thread
  int64_t counted_ = 0;            // threads when they were looked for
  int64_t of_ended_ns_ = 0;
  std::vector<Series> series_;
};

const bool registered = Registry<Probe>::instance().add("slices", [] { return std::make_unique<SlicesProbe>(); });

}  // namespace
}  // namespace deepgap
