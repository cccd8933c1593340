// `deepgap schedule`: what an MLPerf run with given settings would load and issue, as CSV. Nothing is run.
#include "base/console.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "mlperf/loadgen/run_json.h"
#include "mlperf/loadgen/schedule.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

namespace deepgap {
namespace {

// Rows to standard output, at most `limit` of them.
class RowOutput {
 public:
  explicit RowOutput(std::optional<int64_t> limit) : left_(limit.value_or(INT64_MAX)) {}

  bool full() const { return left_ == 0; }
  void header(std::string_view line) { fmt::format_to(std::back_inserter(text_), "{}\n", line); }
  template <typename... Fields>
  void row(fmt::format_string<Fields...> format, Fields&&... fields) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Fields>(fields)...);
    --left_;
    if (text_.size() > flush_bytes) flush();
  }
  void flush() {
    if (std::fwrite(text_.data(), 1, text_.size(), stdout) != text_.size() || std::fflush(stdout) != 0) {
      if (errno == EPIPE) end_by_closed_pipe();
      throw Error(ErrorKind::input, fmt::format("cannot write standard output: {}", std::strerror(errno)));
    }
    text_.clear();
  }

 private:
  static constexpr size_t flush_bytes = size_t{1} << 16;
  fmt::memory_buffer text_;
  int64_t left_;
};

void write_loaded_sets(const LoadgenSettings& settings, RowOutput& output) {
  LoadgenSchedule schedule(settings);
  output.header("set,pos,sample_index");
  for (size_t number = 0; !output.full(); ++number) {
    const LoadgenSet* set = schedule.next_set();
    if (set == nullptr) return;
    for (size_t i = 0; i < set->indices.size() && !output.full(); ++i) output.row("{},{},{}\n", number, i, set->indices[i]);
  }
}

void write_query(const LoadgenQuery& query, LoadgenSchedule& schedule, RowOutput& output) {
  std::array<LoadgenSample, 64> samples;
  while (!output.full()) {
    const size_t count = schedule.next_samples(samples);
    if (count == 0) return;
    for (size_t i = 0; i < count && !output.full(); ++i) {
      const LoadgenSample& sample = samples[i];
      output.row("{},{},{},{},{:.17g}\n", query.sequence, sample.sequence, sample.index, query.scheduled_ns, sample.accuracy_log_value);
    }
  }
}

void write_issued(const LoadgenSettings& settings, RowOutput& output) {
  LoadgenSchedule schedule(settings);
  output.header("query_seq,sample_seq,sample_index,scheduled_delta_ns,accuracy_log_val");
  while (!output.full() && schedule.next_set() != nullptr) {
    while (!output.full()) {
      const LoadgenQuery* query = schedule.next_query();
      if (query == nullptr) break;
      write_query(*query, schedule, output);
    }
  }
}

class ScheduleCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("--settings", settings_, "Settings of the run, as JSON")->required()->type_name("RUN.json");
    app.add_option("--mlperf", round_, "Apply the official seeds and the LoadGen rules of this round: v5.0, v5.1, v6.0, v6.1")
        ->type_name("ROUND");
    app.add_option("--limit", limit_, "Write at most N rows")->check(CLI::NonNegativeNumber.description(""))->type_name("N");
    app.add_flag("--loaded-sets", loaded_sets_, "Write the lists of samples to load instead");
  }
  int run() override {
    return work_confined({.subject = settings_, .cpu_seconds = 3600, .file_bytes = uint64_t{1} << 40}, [&] { return write(); });
  }

 private:
  int write() {
    LoadgenSettings settings = parse_run_json(read_text(settings_), settings_);
    if (!round_.empty()) apply_round(round_, settings);
    RowOutput output(limit_);
    loaded_sets_ ? write_loaded_sets(settings, output) : write_issued(settings, output);
    output.flush();
    return exit_ok;
  }

  std::string settings_, round_;
  std::optional<int64_t> limit_;
  bool loaded_sets_ = false;
};

const bool registered = add_command<ScheduleCommand>({"schedule",
                                                      {CommandGroup::system, 6},
                                                      "Print the queries of an MLPerf run exactly as LoadGen issues them; measure nothing",
                                                      "  deepgap schedule --settings run.json --mlperf v6.0 --limit 10\n"});

}  // namespace
}  // namespace deepgap
