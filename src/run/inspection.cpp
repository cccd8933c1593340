#include "run/inspection.h"

#include "record/point_option.h"

#include "base/text.h"
#include "record/record_json.h"
#include "run/child_process.h"
#include "run/memory_kills.h"
#include "run/read_in_child.h"
#include "worker/reading.h"
#include "worker/worker_main.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

namespace deepgap {
namespace {

// Points that even a busy machine looks at in a second.
constexpr uint64_t points_a_second = 500;

ChildLimits limits_for(const std::vector<Point>& points) {
  std::vector<std::string> files;
  for (const Point& point : points) files.push_back(is_remote(point.placement) ? option_of(point, "reference") : point.model);
  ChildLimits limits = reader_limits(files);
  *limits.cpu_seconds += points.size() / points_a_second;
  limits.are_lifted = std::all_of(points.begin(), points.end(), may_go_on);
  return limits;
}

std::string one_line(const std::string& text) { return join(split(trim(text), '\n'), " "); }

// Signals that no fault of a file or an engine sends: somebody did.
bool sent_by_others(const ExitState& state) {
  return state.signal == SIGKILL || state.signal == SIGTERM || state.signal == SIGINT || state.signal == SIGHUP;
}

std::string death_of(ChildProcess& worker, const ExitState& state, const ChildLimits& limits) {
  if (std::string limit = broken_limit(state, limits); !limit.empty()) return limit;
  const std::string said = one_line(worker.output_tail());
  return fmt::format("the inspection died ({}){}{}", state.describe(), said.empty() ? "" : ": ", said);
}

void throw_mistake(const Frame& frame) {
  try {
    throw_error(frame);
  } catch (const Error& error) {
    if (!frame.header.contains("point")) throw;
    throw PointError(error, frame.header.at("point"), frame.header.at("axis"));
  }
}

// One child, from its start to its end. `command`: the worker, which opens plug-ins, or the reading child, which is confined.
class Attempt {
 public:
  Attempt(const char* command, const std::vector<Point>& points, const std::string& cache_dir, const BrokenBackends& broken,
          const ChildLimits& limits)
      : limits_(limits),
        worker_(std::make_unique<ChildProcess>(command, std::map<std::string, std::string>(), limits)),
        limit_(std::chrono::seconds(2 * *limits.cpu_seconds)) {
    worker_->send({{{"kind", "inspect"}, {"cache_dir", cache_dir}, {"broken", broken}}, {lines_of_points(points)}});
  }

  // Returns false if the child died or hung; `step()` and `defect()` say where.
  bool finish(Inspected& inspected, Interrupts& interrupts) {
    const auto deadline = std::chrono::steady_clock::now() + limit_;
    while (true) {
      Frame frame;
      switch (worker_->wait(frame, deadline, &interrupts)) {
        case ChildProcess::Event::interrupted:
          inspected.interrupted = true;
          return true;
        case ChildProcess::Event::silence:
          defect_ = fmt::format("its inspection took longer than {} s", limit_.count());
          return false;
        case ChildProcess::Event::ended:
          explain_death();
          return false;
        case ChildProcess::Event::frame:
          if (take(frame, inspected)) return true;
      }
    }
  }

  const InspectionStep& step() const { return step_; }
  const std::string& defect() const { return defect_; }
  bool killed_by_others() const { return killed_by_others_; }

 private:
  void explain_death() {
    const ExitState state = worker_->exit_state();
    const MemoryKills kills = memory_kills();
    const bool for_memory = state.signal == SIGKILL && memory_kills_ >= 0 && kills.count > memory_kills_;
    defect_ = for_memory ? fmt::format("the inspection took more memory than there is ({} counts a kill)", kills.source)
                         : death_of(*worker_, state, limits_);
    killed_by_others_ = !for_memory && sent_by_others(state);
  }

  // True: that was the last frame.
  bool take(const Frame& frame, Inspected& inspected) {
    const std::string kind = frame.header.value("kind", "");
    if (kind == "inspecting") step_ = {frame.header.at("subject"), frame.header.at("backend")};
    if (kind == "points") {
      for (const nlohmann::json& point : frame.header.at("points")) inspected.points.push_back(inspected_from_json(point));
    }
    throw_mistake(frame);
    if (kind != "inspected") return false;
    inspected.environment = facts_from_json(frame.header.at("environment"));
    if (limits_.are_lifted) inspected.child = std::move(worker_);
    return true;
  }

  ChildLimits limits_;
  std::unique_ptr<ChildProcess> worker_;
  std::chrono::seconds limit_;
  InspectionStep step_{"the plan", ""};
  std::string defect_;
  bool killed_by_others_ = false;
  const int64_t memory_kills_ = memory_kills().count;  // before
};

Inspected inspect_by(const char* command, const std::vector<Point>& points, const std::string& cache_dir, BrokenBackends broken,
                     Interrupts& interrupts) {
  const ChildLimits limits = limits_for(points);
  constexpr int most_kills = 3;
  for (int kills = 0;;) {
    Attempt attempt(command, points, cache_dir, broken, limits);
    Inspected inspected;
    if (attempt.finish(inspected, interrupts)) return inspected;
    if (attempt.killed_by_others()) {
      if (++kills < most_kills) continue;
      throw Error(ErrorKind::internal,
                  fmt::format("{} {} times, by something outside deepgap, during the inspection of {}; nothing was measured",
                              attempt.defect(), kills, attempt.step().subject));
    }
    const std::string& backend = attempt.step().backend;
    // An engine that takes its process down is no fault of the files: its Points are refused and the others are asked again.
    if (backend.empty() || !broken.emplace(backend, fmt::format("backend '{}' does not load: {}", backend, attempt.defect())).second)
      throw Error(ErrorKind::input, fmt::format("cannot use {}: {}", attempt.step().subject, attempt.defect()));
  }
}

// The files of Points, confined and without plug-ins: nothing of what backends could say is asked for.
bool read_files_of(const std::vector<Point>& points, const std::string& cache_dir, Interrupts& interrupts) {
  std::vector<Point> with_files;
  BrokenBackends unopened;
  for (const Point& point : points) {
    if (!reads_files(point)) continue;
    with_files.push_back(point);
    unopened[point.backend] = "not opened while files are looked at";
  }
  if (with_files.empty()) return true;
  try {
    return !inspect_by(reading_command, with_files, cache_dir, unopened, interrupts).interrupted;
  } catch (const PointError& error) {
    // The error's place counts within the Points that have files.
    const Point& guilty = with_files[error.point()];
    throw PointError(error, static_cast<size_t>(std::find(points.begin(), points.end(), guilty) - points.begin()), error.axis());
  }
}

}  // namespace

Inspected inspect_in_child(const std::vector<Point>& points, const std::string& cache_dir, Interrupts& interrupts) {
  if (!read_files_of(points, cache_dir, interrupts)) return {.points = {}, .environment = {}, .interrupted = true, .child = nullptr};
  return inspect_by(worker_command, points, cache_dir, {}, interrupts);
}

}  // namespace deepgap
