#include "mlperf/submission/tree.h"

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "mlperf/submission/audit.h"
#include "mlperf/submission/system.h"
#include "record/fact_values.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr const char* benchmark = "resnet50";

// The requirements of a round for ResNet-50.
struct Category {
  const char* system_type;
  std::vector<std::string> scenarios;
};
Category category_of(const std::string& round) {
  if (round == "v5.0") return {"datacenter", {"Server", "Offline"}};
  return {"edge", {"SingleStream", "MultiStream", "Offline"}};
}

class TreeWriter {
 public:
  TreeWriter(const MlperfRuns& runs, const MlperfTree& tree)
      : runs_(runs),
        tree_(tree),
        round_(runs.round()),
        old_layout_(round_.starts_with("v5")),
        root_(fs::path(tree.folder) / "open" / tree.submitter) {}

  std::vector<std::string> write();

 private:
  void require_runs() const;
  void require_model() const;
  void write_system();
  void write_scenario(const std::string& scenario);
  void write_performance(const std::string& scenario, const Record& run);
  void write_accuracy(const std::string& scenario, const Record& run);
  void write_measurements(const std::string& scenario, const Record& run);
  void write_tests(const std::string& scenario);
  void copy_logs(const Record& run, const fs::path& folder, const std::vector<std::string>& names) const;

  fs::path scenario_folder(const char* part, const std::string& scenario) const {
    return root_ / (old_layout_ ? part : "results") / system_ / benchmark / scenario;
  }
  static std::string log(const Record& run, const std::string& name) {
    return read_text(fmt::format("{}/mlperf_log_{}", mlperf_fact(run, "mlperf.log"), name), mlperf_log_limit);
  }
  static void put(const fs::path& path, std::string_view text) {
    make_directories(path.parent_path().string());
    write_file_atomic(path.string(), text);
  }

  const MlperfRuns& runs_;
  const MlperfTree& tree_;
  std::string round_;
  bool old_layout_;
  fs::path root_;
  std::string system_;
  std::vector<std::string> notes_;
};

std::vector<std::string> TreeWriter::write() {
  require_runs();
  require_model();
  runs_.require_one_system();
  runs_.require_own_logs();
  if (fs::exists(tree_.folder) && !fs::is_empty(tree_.folder))
    throw Error(ErrorKind::input, fmt::format("{} is not empty: name a new folder with --output", tree_.folder));
  write_system();
  for (const std::string& scenario : runs_.scenarios()) {
    if (runs_.find(scenario, MlperfKind::performance) != nullptr && runs_.find(scenario, MlperfKind::accuracy) != nullptr)
      write_scenario(scenario);
  }
  return std::move(notes_);
}

void TreeWriter::require_runs() const {
  std::vector<std::string> missing;
  for (const std::string& scenario : category_of(round_).scenarios) {
    for (const MlperfKind kind : {MlperfKind::performance, MlperfKind::accuracy}) {
      if (runs_.find(scenario, kind) == nullptr) missing.push_back(fmt::format("{} {}", scenario, name_of(kind)));
    }
  }
  if (missing.empty()) return;
  throw Error(ErrorKind::input,
              fmt::format("a tree of {} for {} systems lacks: {}; measure them with deepgap run --mlperf {} --mlperf-log DIR", round_,
                          category_of(round_).system_type, join(missing, ", "), round_));
}

void TreeWriter::require_model() const {
  for (const std::string& scenario : runs_.scenarios()) {
    for (const MlperfKind kind : {MlperfKind::performance, MlperfKind::accuracy, MlperfKind::test01, MlperfKind::test04}) {
      const Record* run = runs_.find(scenario, kind);
      if (run != nullptr && mlperf_benchmark(*run) != benchmark)
        throw Error(ErrorKind::usage, fmt::format("the tree is for {}; the store has a run of {}: export from a store without it",
                                                  benchmark, mlperf_benchmark(*run)));
    }
  }
}

void TreeWriter::write_system() {
  const Record& run = *runs_.find(category_of(round_).scenarios.front(), MlperfKind::performance);
  system_ = mlperf_system_name(run);
  put(root_ / "systems" / (system_ + ".json"), mlperf_system_json(run, tree_.submitter, category_of(round_).system_type));
  put(root_ / (old_layout_ ? "code" : "src") / benchmark / "README.md",
      fmt::format("# {}\n\nMeasured with deepgap {}; each scenario's README.md has the options.\n", benchmark,
                  mlperf_fact(run, "deepgap.version")));
}

void TreeWriter::write_scenario(const std::string& scenario) {
  const Record& performance = *runs_.find(scenario, MlperfKind::performance);
  if (performance.verdict != Verdict::valid) notes_.push_back(fmt::format("{}: the result is invalid: {}", scenario, performance.reason));
  const std::string rules = mlperf_fact(performance, "mlperf.by_the_rules");
  if (rules.starts_with("no: ")) notes_.push_back(fmt::format("{}: by the round's rules {}", scenario, rules));
  write_performance(scenario, performance);
  write_accuracy(scenario, *runs_.find(scenario, MlperfKind::accuracy));
  write_measurements(scenario, performance);
  write_tests(scenario);
}

void TreeWriter::copy_logs(const Record& run, const fs::path& folder, const std::vector<std::string>& names) const {
  for (const std::string& name : names) put(folder / ("mlperf_log_" + name), log(run, name));
}

void TreeWriter::write_performance(const std::string& scenario, const Record& run) {
  copy_logs(run, scenario_folder("results", scenario) / "performance" / "run_1", {"summary.txt", "detail.txt", "accuracy.json"});
}

// The checker takes logs of 10 KiB at most: beginning, end, and the whole file's hash in accuracy.txt.
std::string ends_of(const std::string& text) {
  constexpr size_t shown = 4096;
  if (text.size() <= 2 * shown) return text;
  return text.substr(0, shown) + "\n\n...\n\n" + text.substr(text.size() - shown);
}

void TreeWriter::write_accuracy(const std::string& scenario, const Record& run) {
  const fs::path folder = scenario_folder("results", scenario) / "accuracy";
  copy_logs(run, folder, {"summary.txt", "detail.txt"});
  const std::string answers = log(run, "accuracy.json");
  put(folder / "mlperf_log_accuracy.json", ends_of(answers));
  const double* accuracy = fact_as<double>(run.facts, "mlperf.accuracy");
  const std::string claim = accuracy != nullptr ? fmt::format("accuracy={:.3f}%", *accuracy * 100)
                                                : std::string("synthetic: the samples have no labels; no accuracy is claimed");
  put(folder / "accuracy.txt", fmt::format("{}\nhash={}\n", claim, sha256(answers)));
}

void TreeWriter::write_measurements(const std::string& scenario, const Record& run) {
  const fs::path folder = scenario_folder("measurements", scenario);
  const std::string name = old_layout_ ? fmt::format("{}_deepgap_{}.json", system_, scenario) : "measurements.json";
  put(folder / name, mlperf_measurements_json(run));
  put(folder / "user.conf", mlperf_user_conf(run, scenario));
  put(folder / "README.md", mlperf_scenario_readme(run, scenario));
}

void TreeWriter::write_tests(const std::string& scenario) {
  const fs::path folder = scenario_folder("compliance", scenario);
  const auto score = [](const Record& run) { return read_mlperf_score(log(run, "detail.txt"), mlperf_fact(run, "mlperf.log")); };
  const MlperfScore reference = score(*runs_.find(scenario, MlperfKind::performance));
  for (const MlperfKind kind : {MlperfKind::test01, MlperfKind::test04}) {
    const Record* run = runs_.find(scenario, kind);
    if (run == nullptr) {
      notes_.push_back(fmt::format("{}: there is no {}, which the closed division wants", scenario, name_of(kind)));
      continue;
    }
    const fs::path test = folder / name_of(kind);
    copy_logs(*run, test / "performance" / "run_1", {"summary.txt", "detail.txt"});
    const bool first = kind == MlperfKind::test01;
    put(test / "verify_performance.txt", first ? verify_test01_speed(reference, score(*run)) : verify_test04_speed(reference, score(*run)));
    if (!first) continue;
    const std::string answers = log(*run, "accuracy.json");
    put(test / "accuracy" / "mlperf_log_accuracy.json", ends_of(answers));
    put(test / "verify_accuracy.txt", verify_test01_answers(log(*runs_.find(scenario, MlperfKind::accuracy), "accuracy.json"), answers));
  }
}

}  // namespace

std::vector<std::string> write_mlperf_tree(const MlperfRuns& runs, const MlperfTree& tree) { return TreeWriter(runs, tree).write(); }

}  // namespace deepgap
