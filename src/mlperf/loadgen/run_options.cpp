#include "mlperf/loadgen/run_options.h"

#include "base/option_table.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace deepgap {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, what); }

// The rounds' rules for ResNet-50 and what holds for all, in the terms of mlperf.conf; below them, of benchmarks that earlier rounds had,
// and of language models whose tokens are timed.
constexpr const char* round_rules = R"(
*.SingleStream.target_latency = 10
*.SingleStream.target_latency_percentile = 90
*.SingleStream.min_duration = 600000
*.MultiStream.target_latency = 80
*.MultiStream.target_latency_percentile = 99
*.MultiStream.samples_per_query = 8
*.MultiStream.min_duration = 600000
*.MultiStream.min_query_count = 662
*.Server.target_latency = 10
*.Server.target_latency_percentile = 99
*.Server.min_duration = 600000
*.Offline.min_duration = 600000
resnet50.*.performance_sample_count_override = 1024
resnet50.Server.target_latency = 15
resnet50.Offline.min_query_count = 24576
mobilenet_v1.*.performance_sample_count_override = 1024
ssd_mobilenet_v1.*.performance_sample_count_override = 256
ssd_resnet34.*.performance_sample_count_override = 64
bert_large.*.performance_sample_count_override = 10833
bert_large.Server.target_latency = 130
bert_large.Offline.min_query_count = 10833
gnmt.*.performance_sample_count_override = 3003
gnmt.Server.target_latency = 250
gnmt.Server.target_latency_percentile = 97
llama2-70b.*.performance_sample_count_override = 24576
llama2-70b.*.use_token_latencies = 1
llama2-70b.*.sample_concatenate_permutation = 1
llama2-70b.Server.target_latency = 0
llama2-70b.Server.ttft_latency = 2000
llama2-70b.Server.tpot_latency = 200
llama2-70b.Offline.min_query_count = 24576
llama2-70b-interactive.*.performance_sample_count_override = 24576
llama2-70b-interactive.*.use_token_latencies = 1
llama2-70b-interactive.*.sample_concatenate_permutation = 1
llama2-70b-interactive.Server.target_latency = 0
llama2-70b-interactive.Server.ttft_latency = 450
llama2-70b-interactive.Server.tpot_latency = 40
llama3_1-8b.*.performance_sample_count_override = 13368
llama3_1-8b.*.use_token_latencies = 1
llama3_1-8b.*.sample_concatenate_permutation = 1
llama3_1-8b.Server.target_latency = 0
llama3_1-8b.Server.ttft_latency = 2000
llama3_1-8b.Server.tpot_latency = 100
llama3_1-8b.Offline.min_query_count = 13368
llama3_1-8b-interactive.*.performance_sample_count_override = 13368
llama3_1-8b-interactive.*.use_token_latencies = 1
llama3_1-8b-interactive.*.sample_concatenate_permutation = 1
llama3_1-8b-interactive.Server.target_latency = 0
llama3_1-8b-interactive.Server.ttft_latency = 500
llama3_1-8b-interactive.Server.tpot_latency = 30
llama3_1-405b.*.performance_sample_count_override = 8313
llama3_1-405b.*.use_token_latencies = 1
llama3_1-405b.*.sample_concatenate_permutation = 1
llama3_1-405b.Server.target_latency = 0
llama3_1-405b.Server.ttft_latency = 6000
llama3_1-405b.Server.tpot_latency = 175
llama3_1-405b.Offline.min_query_count = 8313
)";

// Returns the size of the benchmark's own data set (ImageNet's, COCO's and SQuAD's validation sets, newstest2014); 0: not known here.
int64_t official_samples(const std::string& model) {
  static const std::map<std::string, int64_t> samples{{"bert_large", 10833},      {"gnmt", 3003},
                                                      {"mobilenet_v1", 50000},    {"resnet50", 50000},
                                                      {"ssd_mobilenet_v1", 5000}, {"ssd_resnet34", 5000}};
  const auto found = samples.find(model);
  return found == samples.end() ? 0 : found->second;
}

// Returns what the closed division asks of an image classifier: a share of the reference's accuracy on ImageNet.
double official_accuracy(const std::string& model) {
  if (model == "resnet50") return 0.99 * 0.7646;
  if (model == "mobilenet_v1") return 0.98 * 0.7168;
  return 0;
}

const std::map<std::string, LoadgenScenario>& scenarios() {
  static const std::map<std::string, LoadgenScenario> names{{"single-stream", LoadgenScenario::single_stream},
                                                            {"multi-stream", LoadgenScenario::multi_stream},
                                                            {"server", LoadgenScenario::server},
                                                            {"offline", LoadgenScenario::offline}};
  return names;
}

LoadgenScenario scenario_of(const std::string& name) {
  const auto found = scenarios().find(name);
  if (found == scenarios().end())
    refuse(fmt::format("scenario '{}' does not exist in MLPerf: use single-stream, multi-stream, server or offline", name));
  return found->second;
}

enum class Audit { none, test01, test04 };

// The options of a Point besides LoadGen's own settings.
struct MlperfOptions {
  std::string round;
  LoadgenMode mode = LoadgenMode::performance;
  Audit test = Audit::none;
  std::string model;                      // empty: the Point's
  std::optional<int64_t> samples;         // nullopt: as many as the Dataset has
  std::optional<double> accuracy_target;  // nullopt: the benchmark's
  double scale = 1;
};
using MlperfTable = OptionTable<MlperfOptions>;

const MlperfTable::Choices<LoadgenMode> modes{
    {"performance", LoadgenMode::performance}, {"accuracy", LoadgenMode::accuracy}, {"submission", LoadgenMode::submission}};
const MlperfTable::Choices<Audit> audits{{"none", Audit::none}, {"TEST01", Audit::test01}, {"TEST04", Audit::test04}};

MlperfTable make_table() {
  MlperfTable table;
  table.text("mlperf", "MLPerf round whose LoadGen, seeds and rules apply: v5.0, v5.1, v6.0, v6.1; --rate is its target_qps",
             &MlperfOptions::round);
  table.choice("mlperf_mode", "MLPerf mode: performance, accuracy or submission (both)", &MlperfOptions::mode, modes);
  table.choice("mlperf_test", "MLPerf audit test: none, TEST01 (compares answers) or TEST04 (looks for caching)", &MlperfOptions::test,
               audits);
  table.text("mlperf_model", "Benchmark whose rules apply; by default the model's name", &MlperfOptions::model);
  table.count("mlperf_samples", "Size of the sample library; by default the dataset's", &MlperfOptions::samples, 1);
  const auto positive_share = [&](const char* name, const char* describe, const char* range, auto field) {
    table.parsed({name, describe, ""}, range, field, [](const std::string& value) {
      const auto share = parse_share(value);
      return share && *share > 0 ? share : std::nullopt;
    });
  };
  positive_share("mlperf_accuracy_target", "Share of correct answers that an accuracy run must reach; by default the benchmark's",
                 "a percentage such as 75.7%", &MlperfOptions::accuracy_target);
  positive_share("mlperf_scale", "Factor on times, counts and samples of the rules, such as 0.01. Short runs are not MLPerf results",
                 "a number above 0 and up to 1", &MlperfOptions::scale);
  return table;
}

const MlperfTable& table() {
  static const MlperfTable made = make_table();
  return made;
}

MlperfOptions mlperf_options(const std::map<std::string, std::string>& given, const std::string& model) {
  MlperfOptions options;
  options.model = model;
  table().set_known(options, given);
  return options;
}

void apply_audit(Audit audit, LoadgenSettings& settings) {
  if (audit == Audit::none) return;
  if (settings.mode != LoadgenMode::performance) refuse("mlperf_test goes with mlperf_mode=performance");
  if (audit == Audit::test01) {
    settings.accuracy_log_rng_seed = 720381539243781796U;
    settings.accuracy_log_sampling_target = 4096;
  } else {
    settings.issue_same = true;
    settings.issue_same_index = 3;
  }
}

// A shorter run of the same shape.
void apply_scale(double scale, bool library_too, LoadgenSettings& settings) {
  const auto scaled = [scale](int64_t value) { return std::max<int64_t>(1, std::llround(static_cast<double>(value) * scale)); };
  settings.min_duration_ms = scaled(settings.min_duration_ms);
  settings.min_query_count = scaled(settings.min_query_count);
  if (settings.performance_sample_count > 0) settings.performance_sample_count = scaled(settings.performance_sample_count);
  if (library_too) settings.total_sample_count = scaled(settings.total_sample_count);
  if (settings.accuracy_log_sampling_target > 0) settings.accuracy_log_sampling_target = scaled(settings.accuracy_log_sampling_target);
}

std::vector<std::string> deviations_of(const LoadgenRunSettings& run, const LoadgenSettings& rules, const std::string& model) {
  const LoadgenSettings& settings = run.settings;
  std::vector<std::string> found;
  const auto least = [&](const char* name, int64_t is, int64_t asked) {
    if (is < asked) found.push_back(fmt::format("{} is {}, {} asks for at least {}", name, is, run.round.name, asked));
  };
  const auto equal = [&](const char* name, auto is, auto asked) {
    if (is != asked) found.push_back(fmt::format("{} is {}, {} asks for {}", name, is, run.round.name, asked));
  };
  least("min_duration", settings.min_duration_ms, rules.min_duration_ms);
  least("min_query_count", settings.min_query_count, rules.min_query_count);
  least("the performance sample count", effective_settings(settings).performance_sample_count, rules.performance_sample_count);
  equal("qsl_rng_seed", settings.qsl_rng_seed, rules.qsl_rng_seed);
  equal("sample_index_rng_seed", settings.sample_index_rng_seed, rules.sample_index_rng_seed);
  equal("schedule_rng_seed", settings.schedule_rng_seed, rules.schedule_rng_seed);
  equal("target_latency_percentile", effective_settings(settings).target_latency_percentile,
        effective_settings(rules).target_latency_percentile);
  if (settings.scenario == LoadgenScenario::server) equal("target_latency in ns", settings.target_latency_ns, rules.target_latency_ns);
  equal("use_token_latencies", settings.token_latencies, rules.token_latencies);
  if (settings.token_latencies && settings.scenario == LoadgenScenario::server) {
    equal("ttft_latency in ns", settings.ttft_latency_ns, rules.ttft_latency_ns);
    equal("tpot_latency in ns", settings.tpot_latency_ns, rules.tpot_latency_ns);
  }
  if (settings.scenario == LoadgenScenario::multi_stream) equal("samples_per_query", settings.samples_per_query, rules.samples_per_query);
  equal("sample_concatenate_permutation", settings.equal_issue, rules.equal_issue);
  if (official_samples(model) > 0) equal("the number of samples", settings.total_sample_count, official_samples(model));
  return found;
}

void apply_rules(LoadgenSettings& settings, const std::string& model) {
  const ConfFile rules = ConfFile::parse(round_rules, "the round's rules");
  for (const auto& [key, entry] : rules.entries_for(model, name_of(settings.scenario)))
    set_conf_key(settings, key, entry.value, ConfRole::rules);
}

// `rate` is deepgap's word for target_qps.
std::map<std::string, std::string> with_rate(std::map<std::string, std::string> options, LoadgenScenario scenario) {
  const auto rate = options.find("rate");
  if (rate == options.end()) return options;
  if (scenario != LoadgenScenario::server && scenario != LoadgenScenario::offline)
    refuse(fmt::format("{} has no rate, because each query follows the last answer; leave rate out", name_of(scenario)));
  if (!options.emplace("mlperf_target_qps", rate->second).second)
    refuse("rate and target_qps mean the same in an MLPerf run: leave one of them out");
  return options;
}

void apply_keys(const std::map<std::string, std::string>& options, LoadgenSettings& settings) {
  for (const std::string& key : conf_keys()) {
    const auto given = options.find("mlperf_" + key);
    if (key == "mode" || given == options.end()) continue;
    try {
      set_conf_key(settings, key, given->second, ConfRole::rules);
    } catch (const Error& error) {
      refuse(fmt::format("mlperf_{}: {}", key, error.what()));
    }
  }
}

}  // namespace

const std::vector<OptionInfo>& loadgen_options() {
  static const std::vector<OptionInfo> options = [] {
    std::vector<OptionInfo> all = table().infos();
    for (const std::string& key : conf_keys()) {
      if (key != "mode") all.push_back({"mlperf_" + key, "Setting of LoadGen's user.conf", ""});
    }
    return all;
  }();
  return options;
}

std::map<std::string, std::string> options_of_conf(const ConfFile& file, ConfRole role, const std::string& model,
                                                   const std::string& scenario) {
  LoadgenSettings scratch;
  scratch.scenario = scenario_of(scenario);
  std::map<std::string, std::string> options;
  for (const auto& [key, entry] : file.entries_for(model, name_of(scratch.scenario))) {
    try {
      set_conf_key(scratch, key, entry.value, role);
    } catch (const Error& error) {
      throw Error(ErrorKind::input, fmt::format("{}:{}: {}: {}", file.source(), entry.line, key, error.what()));
    }
    options["mlperf_" + key] = entry.value;
  }
  if (options.erase("mlperf_mode") > 0) {
    for (const auto& [name, mode] : modes) {
      if (mode == scratch.mode) options["mlperf_mode"] = name;
    }
  }
  return options;
}

std::map<std::string, std::string> options_of_audit(const ConfFile& file, const std::string& scenario) {
  for (const ConfEntry& entry : file.entries()) {
    if (entry.model == "*") continue;
    throw Error(ErrorKind::input, fmt::format("{}:{}: LoadGen reads an audit's settings for any model: write '*' for '{}'", file.source(),
                                              entry.line, entry.model));
  }
  std::map<std::string, std::string> options = options_of_conf(file, ConfRole::user, "*", scenario);
  LoadgenSettings asked;
  asked.scenario = scenario_of(scenario);
  apply_keys(options, asked);
  for (const auto& [name, audit] : audits) {
    LoadgenSettings test;
    test.scenario = asked.scenario;
    apply_audit(audit, test);
    if (audit == Audit::none || asked != test) continue;
    std::erase_if(options, [](const auto& option) { return option.first != "mlperf_mode"; });
    options["mlperf_test"] = name;
  }
  return options;
}

int64_t loadgen_library_size(const std::map<std::string, std::string>& options, const std::string& model) {
  const MlperfOptions given = mlperf_options(options, model);
  const int64_t official = official_samples(given.model);
  return given.samples.value_or(official > 0 ? official : 1024);
}

LoadgenRunSettings loadgen_run_settings(const std::map<std::string, std::string>& options, const std::string& scenario,
                                        const std::string& model, int64_t samples) {
  LoadgenRunSettings run;
  LoadgenSettings& settings = run.settings;
  settings.scenario = scenario_of(scenario);
  const MlperfOptions given = mlperf_options(options, model);
  apply_round(given.round, settings);
  for (const LoadgenRound& round : loadgen_rounds()) {
    if (round.name == given.round) run.round = round;
  }
  settings.total_sample_count = given.samples.value_or(samples);
  apply_rules(settings, given.model);
  const LoadgenSettings rules = settings;
  settings.mode = given.mode;
  apply_keys(with_rate(options, settings.scenario), settings);
  apply_audit(given.test, settings);
  if (given.scale < 1) apply_scale(given.scale, !given.samples, settings);
  if (settings.total_sample_count > samples)
    refuse(fmt::format("mlperf_samples is {}, but the dataset has {} samples", settings.total_sample_count, samples));
  settings.performance_sample_count = std::min(settings.performance_sample_count, settings.total_sample_count);
  check_settings(settings);
  run.accuracy_target = given.accuracy_target.value_or(official_accuracy(given.model));
  run.deviations = deviations_of(run, rules, given.model);
  return run;
}

}  // namespace deepgap
