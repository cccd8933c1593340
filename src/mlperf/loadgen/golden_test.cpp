// Every recorded LoadGen run, compared whole: a selection in tests/data/loadgen, and all of ../shared/reference/loadgen where that exists.
#include "base/file.h"
#include "base/text.h"
#include "mlperf/loadgen/accuracy_log.h"
#include "mlperf/loadgen/run_json.h"
#include "mlperf/loadgen/schedule.h"
#include "stats/early_stopping.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;

constexpr const char* selection = "tests/data/loadgen";
constexpr const char* everything = "../shared/reference/loadgen";

std::vector<fs::path> recorded_runs(const fs::path& root) {
  std::vector<fs::path> runs;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() == "run.json") runs.push_back(entry.path().parent_path());
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

Rows lines_of(const fs::path& path) {
  Rows lines = split(trim(read_text(path)), '\n');
  lines.erase(lines.begin());
  return lines;
}

struct Made {
  Rows issued, loaded;
  uint64_t samples = 0;
  std::set<std::pair<uint64_t, uint64_t>> logged;  // seq_id, qsl_idx
};

// The whole schedule, as rows up to `issued_rows` and `loaded_rows`.
Made make_schedule(const LoadgenSettings& settings, size_t issued_rows, size_t loaded_rows) {
  LoadgenSchedule schedule(settings);
  const AccuracyLogChoice choice(settings);
  Made made;
  std::array<LoadgenSample, 100> samples;
  for (size_t number = 0; const LoadgenSet* set = schedule.next_set(); ++number) {
    for (size_t i = 0; i < set->indices.size() && made.loaded.size() < loaded_rows; ++i) {
      made.loaded.push_back(fmt::format("{},{},{}", number, i, set->indices[i]));
    }
    while (const LoadgenQuery* query = schedule.next_query()) {
      while (const size_t count = schedule.next_samples(samples)) {
        made.samples += count;
        for (size_t i = 0; i < count; ++i) {
          const LoadgenSample& sample = samples[i];
          if (choice.logs(sample.accuracy_log_value)) made.logged.emplace(sample.sequence, sample.index);
          if (made.issued.size() == issued_rows) continue;
          made.issued.push_back(fmt::format("{},{},{},{},{:.17g}", query->sequence, sample.sequence, sample.index, query->scheduled_ns,
                                            sample.accuracy_log_value));
        }
      }
    }
  }
  return made;
}

// Returns whether the number of queries depends on the answers' times.
bool ends_by_time(const LoadgenSettings& settings) {
  const bool streams = settings.scenario == LoadgenScenario::single_stream || settings.scenario == LoadgenScenario::multi_stream;
  return streams && settings.mode != LoadgenMode::accuracy && !settings.issue_unique;
}

void expect_log(const fs::path& run, const Made& made) {
  std::set<std::pair<uint64_t, uint64_t>> recorded;
  for (const auto& entry : nlohmann::json::parse(read_text(run / "mlperf_log_accuracy.json"))) {
    recorded.emplace(entry["seq_id"], entry["qsl_idx"]);
  }
  EXPECT_EQ(made.logged, recorded);
}

void expect_as_recorded(const fs::path& run) {
  SCOPED_TRACE(run.string());
  const std::string text = read_text(run / "run.json");
  const LoadgenSettings settings = parse_run_json(text, "run.json");
  const Rows issued = lines_of(run / "issued.csv"), loaded = lines_of(run / "loaded_sets.csv");
  const Made made = make_schedule(settings, issued.size(), loaded.size());
  EXPECT_TRUE(made.issued == issued);
  EXPECT_TRUE(made.loaded == loaded);
  const uint64_t recorded = nlohmann::json::parse(text)["samples_issued"];
  if (ends_by_time(settings)) {
    EXPECT_GE(made.samples, recorded);
  } else {
    EXPECT_EQ(made.samples, recorded);
  }
  if (settings.accuracy_log_sampling_target > 0) expect_log(run, made);
}

void expect_early_stopping_as(const fs::path& path) {
  int rows = 0;
  for (const std::string& line : lines_of(path)) {
    const auto cells = split(line, ',');
    ASSERT_EQ(cells[1] + cells[2], "0.990");
    ASSERT_EQ(early_stopping_min_within(*parse_double(cells[0]), *parse_int(cells[3])), *parse_int(cells[4])) << line;
    ++rows;
  }
  EXPECT_GE(rows, 200);
}

TEST(LoadgenGolden, Selection) {
  const auto runs = recorded_runs(selection);
  EXPECT_EQ(runs.size(), 22U);
  for (const fs::path& run : runs) expect_as_recorded(run);
  expect_early_stopping_as(fs::path(selection) / "early_stopping_min_h.csv");
}

TEST(LoadgenGolden, Everything) {
  if (!fs::exists(everything)) GTEST_SKIP() << everything << " does not exist: only the selection in " << selection << " was compared";
  const auto runs = recorded_runs(everything);
  EXPECT_GE(runs.size(), 44U);
  for (const fs::path& run : runs) expect_as_recorded(run);
  expect_early_stopping_as(fs::path(everything) / "early_stopping_min_h.csv");
}

}  // namespace
}  // namespace deepgap
