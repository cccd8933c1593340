#include "analysis/decide/recommend.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Made {
  std::string device = "NVIDIA L4", backend = "a";
  Precision precision = Precision::fp16;
  std::string scenario = "batch";
  int64_t batch = 1;
  double throughput = 100, p99_ms = 10;
  std::optional<double> cost_per_hour, energy, loss;
  Verdict verdict = Verdict::valid;
  bool unchecked = false;
  std::map<std::string, std::string> options;
};

PointSummary point_of(const Made& made) {
  PointSummary point;
  point.point.model = "m";
  point.point.backend = made.backend;
  point.point.precision = made.precision;
  point.point.batch = made.batch;
  point.point.scenario = made.scenario;
  point.point.options = made.options;
  point.point.placement.devices = {{"", "cuda", 0}};
  point.identity.device = made.device;
  point.verdict = made.verdict;
  point.unchecked = made.unchecked;
  point.records = point.used = 3;
  const auto put = [&](const char* id, std::optional<double> value) {
    if (value) point.metrics[id] = {{*value, {}, {}, 10}, {*value, 0, 2, 10}, true};
  };
  put("throughput", made.throughput);
  put("latency_p99_ms", made.p99_ms);
  put("cost_per_hour", made.cost_per_hour);
  put("energy_j_per_item", made.energy);
  put("accuracy_loss", made.loss);
  return point;
}

struct Asked {
  std::vector<PointSummary> points;
  std::vector<Workload> workloads;
  explicit Asked(const std::vector<Made>& made) {
    for (const Made& each : made) points.push_back(point_of(each));
    workloads = arrange(points);
  }
  Recommendation with(const Demand& demand) const { return recommend(workloads.at(0), demand); }
};

LatencyBound p99(const std::string& limit) { return parse_latency_bound("p99=" + limit); }

TEST(Recommend, TheCheapestThatHoldsTheBounds) {
  const Asked asked(
      {{.device = "NVIDIA L4", .throughput = 1000, .p99_ms = 8, .cost_per_hour = 0.7, .loss = 0.001},
       {.device = "NVIDIA T4", .throughput = 400, .p99_ms = 30, .cost_per_hour = 0.2, .loss = 0.001},
       {.device = "NVIDIA H100", .precision = Precision::int8, .throughput = 9000, .p99_ms = 2, .cost_per_hour = 4, .loss = 0.03}});
  Demand demand;
  demand.bounds = {p99("15ms")};
  demand.accuracy_loss = 0.01;
  EXPECT_EQ(asked.with(demand).choice->point->identity.device, "NVIDIA L4");
  demand.accuracy_loss = 0.05;
  EXPECT_EQ(asked.with(demand).choice->point->identity.device, "NVIDIA H100");
  demand.bounds = {p99("40ms")};
  demand.accuracy_loss = 0.01;
  const Recommendation found = asked.with(demand);
  EXPECT_EQ(found.choice->point->identity.device, "NVIDIA T4");
  ASSERT_EQ(found.runners_up.size(), 1U);
  EXPECT_EQ(found.would_change.at(0).what, "price");
  EXPECT_NEAR(found.would_change.at(0).to, 0.7 / 1000 * 400, 1e-9);  // there it costs as much an item as the L4
  EXPECT_EQ(found.would_change.at(1).what, "bound");
}

TEST(Recommend, DevicesForTheRateComeFromMeasuredServers) {
  const std::map<std::string, std::string> own{{"rate", "300"}, {"bound", "p99=15ms"}, {"peak", "confirm"}};
  const Asked asked({{.throughput = 1000, .p99_ms = 2, .cost_per_hour = 1},
                     {.scenario = "server", .throughput = 299, .p99_ms = 14, .cost_per_hour = 1, .options = own},
                     {.scenario = "server",
                      .throughput = 399,
                      .p99_ms = 14,
                      .cost_per_hour = 1,
                      .options = {{"rate", "400"}, {"bound", "p99=15ms"}, {"peak", "search"}}}});
  Demand demand;
  demand.bounds = {p99("15ms")};
  demand.rate = 1000;
  demand.allowed = {};
  const Recommendation found = asked.with(demand);
  ASSERT_TRUE(found.choice);
  EXPECT_EQ(found.choice->basis, Basis::measured);
  EXPECT_EQ(found.choice->devices, 4);  // 300 each, not what a search saw once
  EXPECT_DOUBLE_EQ(*found.choice->cost_per_hour, 4);
}

// A confirmed rate of two runs with p90 of 180 and 240 ms: Student's interval of these two is 27 to 1600 ms.
PointSummary confirmed_by(const std::vector<double>& p99_ms, double low_ms, double high_ms) {
  Made made{.scenario = "server", .throughput = 13, .cost_per_hour = 1};
  made.options = {{"rate", "13"}, {"bound", "p99=300ms"}, {"peak", "confirm"}};
  PointSummary point = point_of(made);
  MetricSummary& latency = point.metrics["latency_p99_ms"];
  latency.estimate = {p99_ms.front(), low_ms, high_ms, 200};
  for (const double value : p99_ms) latency.repeats.push_back({latency.repeats.size(), value, 0, 0});
  latency.over_repeats = p99_ms.size() > 1;
  point.records = point.used = static_cast<int64_t>(p99_ms.size());
  return point;
}

TEST(Recommend, WhatIsWithinTheBoundIsNotShownBeyondIt) {
  Demand demand;
  demand.bounds = {p99("300ms")};
  demand.rate = 200;
  const auto found = [&](const PointSummary& point) {
    Asked asked(std::vector<Made>{});
    asked.points = {point};
    asked.workloads = arrange(asked.points);
    return asked.with(demand);
  };
  const Recommendation two = found(confirmed_by({180, 240}, 27, 1600));
  ASSERT_TRUE(two.choice);
  EXPECT_DOUBLE_EQ(*two.choice->latency_s, 0.24) << "the worse of two";
  const Recommendation one = found(confirmed_by({280}, 250, 320));
  ASSERT_TRUE(one.choice) << "its verdict is a test of the bound";
  EXPECT_DOUBLE_EQ(*one.choice->latency_s, 0.3);
  EXPECT_FALSE(found(confirmed_by({180, 310}, 27, 1600)).choice) << "one of two is beyond it";
  const Recommendation three = found(confirmed_by({180, 240, 200}, 140, 310));
  EXPECT_FALSE(three.choice) << "runs differ so much that another may miss it";
  ASSERT_TRUE(three.nearest);
  EXPECT_NEAR(three.nearest->excess, 310.0 / 300, 1e-9);
}

// Samples one after the other show as much about a queue as batches do; samples that come at times of their own do not.
TEST(Recommend, AQueueIsEstimatedFromWhatGoesOneByOne) {
  Demand demand;
  demand.bounds = {p99("6ms")};
  demand.rate = 300;
  const auto basis = [&](const std::string& scenario) {
    return Asked({{.scenario = scenario, .throughput = 1000, .p99_ms = 1, .cost_per_hour = 1}}).with(demand).choice->basis;
  };
  EXPECT_EQ(basis("batch"), Basis::estimated);
  EXPECT_EQ(basis("single-stream"), Basis::estimated);
  EXPECT_EQ(basis("offline"), Basis::measured);
}

TEST(Recommend, WithoutAServerPointAQueueEstimatesAndSaysHowToTell) {
  const Asked asked({{.batch = 1, .throughput = 1000, .p99_ms = 1, .cost_per_hour = 1},
                     {.batch = 8, .throughput = 4000, .p99_ms = 2, .cost_per_hour = 1}});
  Demand demand;
  demand.bounds = {p99("6ms")};
  demand.rate = 3000;
  const Recommendation found = asked.with(demand);
  ASSERT_TRUE(found.choice);
  EXPECT_EQ(found.choice->basis, Basis::estimated);
  EXPECT_EQ(found.choice->point->point.batch, 8);
  EXPECT_EQ(found.choice->devices, 1);
  EXPECT_LE(*found.choice->latency_s, 0.006);
  ASSERT_FALSE(found.unknown.empty());
  EXPECT_THAT(found.unknown[0].command, HasSubstr("--scenario server --slo p99=6ms --find-peak"));
}

TEST(Recommend, TheCommandThatTellsLeavesOutTheLoad) {
  const Asked asked({{.scenario = "concurrency", .cost_per_hour = 1, .unchecked = true, .options = {{"clients", "8"}}}});
  const Recommendation found = asked.with({});
  ASSERT_FALSE(found.unknown.empty());
  EXPECT_THAT(found.unknown[0].command, HasSubstr(" --check on"));
  EXPECT_THAT(found.unknown[0].command, Not(HasSubstr("clients"))) << "of a batch it would be an error";
}

// ... with the engine's own options, one of which native calls `tune`, and without what a search noted on its runs.
TEST(Recommend, TheCommandThatTellsMeasuresTheSameWay) {
  const Asked asked({{.throughput = 1000, .p99_ms = 1, .cost_per_hour = 1, .options = {{"tune", "full"}, {"tune_run", "confirm"}}}});
  Demand demand;
  demand.bounds = {p99("6ms")};
  demand.rate = 300;
  const Recommendation found = asked.with(demand);
  ASSERT_FALSE(found.unknown.empty());
  EXPECT_THAT(found.unknown[0].command, HasSubstr(" --axis tune=full"));
  EXPECT_THAT(found.unknown[0].command, Not(HasSubstr("tune_run")));
}

// What a shell would take apart stands in quotes; what was not as usual is in it.
TEST(Recommend, TheCommandThatTellsCanBeCopied) {
  Asked asked({{.batch = 8, .unchecked = true, .options = {{"shape", "input:Nx3x32x32"}, {"a", "two words"}}}});
  asked.points[0].point.weights = "my weights.safetensors";
  const Recommendation found = asked.with({.goal = Goal::devices});
  ASSERT_FALSE(found.unknown.empty());
  for (const char* part : {" --weights 'my weights.safetensors'", " --batch 8", " --axis 'a=two words'", " --shape input:Nx3x32x32"})
    EXPECT_THAT(found.unknown[0].command, HasSubstr(part));
}

TEST(Recommend, OfPublishedRowsThereIsNoCommand) {
  const Asked asked({{.backend = "tensorrt", .options = {{"published", "somebody"}}}});
  Demand demand{.goal = Goal::devices, .allowed = {"published"}};
  demand.accuracy_loss = 0.01;
  const Recommendation found = asked.with(demand);
  ASSERT_EQ(found.unknown.size(), 1U);
  EXPECT_THAT(found.unknown[0].what, HasSubstr("how accurate"));
  EXPECT_EQ(found.unknown[0].command, "");
}

// It measures deepgap itself, and would always be the quickest.
TEST(Recommend, NeverAnEngineThatComputesNothing) {
  const Asked asked({{.backend = "null", .throughput = 5e6}, {.backend = "native"}});
  const Recommendation found = asked.with({.goal = Goal::devices});
  EXPECT_EQ(found.choice->point->point.backend, "native");
  ASSERT_EQ(found.unknown.size(), 1U);
  EXPECT_THAT(found.unknown[0].what, HasSubstr("computes nothing"));
}

TEST(Recommend, WhatTellsNoLatencyOrNoThroughputIsNamed) {
  Asked asked({{.backend = "a"}, {.backend = "b"}});
  asked.points[0].metrics.erase("latency_p99_ms");
  asked.points[1].metrics.erase("throughput");
  Demand demand{.goal = Goal::devices};
  demand.bounds = {parse_latency_bound("p50=10ms"), p99("20ms")};
  const Recommendation found = asked.with(demand);
  EXPECT_FALSE(found.choice);
  ASSERT_EQ(found.unknown.size(), 2U);
  EXPECT_EQ(found.unknown[0].what,
            "load that L4 \u00b7 b \u00b7 fp16 serves: 1 point left out, because throughput or batch is missing or throughput may be 0");
  EXPECT_EQ(found.unknown[1].what, "how late L4 \u00b7 a \u00b7 fp16 answers: 1 point left out, without p50 and p99");
}

TEST(Recommend, NothingThatCannotBeTrustedUnlessAsked) {
  for (const auto& [verdict, unchecked, published, word] :
       {std::tuple(Verdict::unstable, false, false, "unstable"), std::tuple(Verdict::invalid, false, false, "invalid"),
        std::tuple(Verdict::undecided, false, false, "undecided"), std::tuple(Verdict::valid, true, false, "unchecked"),
        std::tuple(Verdict::valid, true, true, "published")}) {
    Made made{.cost_per_hour = 1, .verdict = verdict, .unchecked = unchecked};
    if (published) made.options["published"] = "somebody";
    const Asked asked({made});
    Demand demand;
    EXPECT_FALSE(asked.with(demand).choice) << word;
    EXPECT_FALSE(asked.with(demand).unknown.empty());
    demand.allowed = {word};
    EXPECT_TRUE(asked.with(demand).choice) << word;
  }
}

TEST(Recommend, WhereNothingFitsTheNearestIsSaid) {
  const Asked asked({{.backend = "a", .p99_ms = 30, .cost_per_hour = 1}, {.backend = "b", .p99_ms = 20, .cost_per_hour = 1}});
  Demand demand;
  demand.bounds = {p99("10ms")};
  const Recommendation found = asked.with(demand);
  EXPECT_FALSE(found.choice);
  ASSERT_TRUE(found.nearest);
  EXPECT_EQ(found.nearest->point->point.backend, "b");
  EXPECT_DOUBLE_EQ(found.nearest->excess, 2);
}

TEST(Recommend, WithoutAPriceItIsLeftOutAndNamed) {
  const Asked asked({{.device = "NVIDIA L4", .cost_per_hour = 1}, {.device = "NVIDIA B200", .throughput = 1e6}});
  const Recommendation found = asked.with({});
  EXPECT_EQ(found.choice->point->identity.device, "NVIDIA L4");
  ASSERT_EQ(found.unknown.size(), 1U);
  EXPECT_THAT(found.unknown[0].what, HasSubstr("no price for NVIDIA B200"));
}

// The result of brute force over all points, from the definitions alone.
struct Brute {
  static std::optional<double> goal(const Made& made, const Demand& demand) {
    if (made.verdict != Verdict::valid || made.unchecked) return std::nullopt;
    for (const LatencyBound& bound : demand.bounds) {
      if (made.p99_ms * 1e6 > static_cast<double>(bound.limit)) return std::nullopt;
    }
    if (demand.accuracy_loss && (!made.loss || *made.loss > *demand.accuracy_loss)) return std::nullopt;
    const double copies = demand.rate ? std::ceil(*demand.rate / made.throughput) : 1;
    if (demand.goal == Goal::devices) return demand.rate ? copies : 1 / made.throughput;
    if (demand.goal == Goal::latency) return made.p99_ms / 1e3;
    if (demand.goal == Goal::energy) return made.energy;
    if (!made.cost_per_hour) return std::nullopt;
    return *made.cost_per_hour * copies / 3.6 / demand.rate.value_or(made.throughput);
  }
};

Made random_made(std::mt19937& random, int number) {
  const auto any = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Made made;
  made.device = std::vector<std::string>{"NVIDIA L4", "NVIDIA T4", "NVIDIA H100", ""}[static_cast<size_t>(any(4))];
  made.backend = "engine" + std::to_string(number);  // each a Line of its own
  made.precision = any(2) == 0 ? Precision::int8 : Precision::bf16;
  made.batch = int64_t{1} << any(8);
  made.throughput = 10.0 * (1 + any(500));
  made.p99_ms = 1 + any(60);
  if (any(4) != 0) made.cost_per_hour = 0.1 * (1 + any(60));
  if (any(4) != 0) made.energy = 0.01 * (1 + any(100));
  if (any(4) != 0) made.loss = 0.002 * any(12);
  made.verdict = std::vector{Verdict::valid, Verdict::valid, Verdict::unstable, Verdict::invalid}[static_cast<size_t>(any(4))];
  made.unchecked = any(6) == 0;
  return made;
}

TEST(Recommend, IsWhatBruteForceSaysInTenThousandCases) {
  std::mt19937 random(23);
  int64_t chosen = 0;
  for (int round = 0; round < 10'000; ++round) {
    std::vector<Made> made;
    const auto count = 1 + random() % 7;
    for (unsigned i = 0; i < count; ++i) made.push_back(random_made(random, static_cast<int>(i)));
    Demand demand;
    demand.goal = static_cast<Goal>(random() % 4);
    // A rate beside a bound is a queue's matter, with its own test: here one of the two.
    if (random() % 2 == 0) demand.bounds = {p99(std::to_string(2 + random() % 60) + "ms")};
    if (demand.bounds.empty() && random() % 2 == 0) demand.rate = 50.0 * static_cast<double>(1 + random() % 400);
    if (random() % 2 == 0) demand.accuracy_loss = 0.002 * static_cast<double>(random() % 12);
    const Asked asked(made);
    const Recommendation found = asked.with(demand);
    std::optional<double> least;
    for (const Made& each : made) {
      const auto value = Brute::goal(each, demand);
      if (value && (!least || *value < *least)) least = value;
    }
    ASSERT_EQ(found.choice.has_value(), least.has_value()) << round;
    if (!least) continue;
    ++chosen;
    ASSERT_NEAR(*value_of(*found.choice, demand.goal, demand), *least, 1e-12 * *least) << round;
    for (const Candidate& other : found.runners_up) ASSERT_FALSE(goes_before(other, *found.choice, demand)) << round;
  }
  EXPECT_GT(chosen, 3000);
}

// With a rate and a bound, each batch on its own Line: what was chosen holds the bound at its share of the rate, and no way needs less.
TEST(Recommend, QueuedChoicesHoldTheirBound) {
  std::mt19937 random(24);
  for (int round = 0; round < 20; ++round) {
    std::vector<Made> made;
    for (int i = 0; i < 4; ++i) {
      made.push_back(random_made(random, i));
      made.back().p99_ms = static_cast<double>(made.back().batch) / made.back().throughput * 1e3;
    }
    Demand demand;
    demand.goal = Goal::devices;
    demand.bounds = {p99(std::to_string(20 + random() % 200) + "ms")};
    demand.rate = 100.0 * static_cast<double>(1 + random() % 100);
    const Asked asked(made);
    const Recommendation found = asked.with(demand);
    std::optional<int64_t> fewest;
    for (const Made& each : made) {
      if (each.verdict != Verdict::valid || each.unchecked) continue;
      const BatchTimes times{{{each.batch, {static_cast<double>(each.batch) / each.throughput, 0}}}, each.batch};
      const double capacity = highest_rate(times, 99, static_cast<double>(demand.bounds[0].limit) / 1e9);
      if (!(capacity > 0)) continue;
      const auto devices = static_cast<int64_t>(std::ceil(*demand.rate / capacity));
      fewest = std::min(fewest.value_or(devices), devices);
    }
    ASSERT_EQ(found.choice.has_value(), fewest.has_value()) << round;
    if (!fewest) continue;
    ASSERT_GE(found.choice->devices, *fewest) << round;
    ASSERT_LE(found.choice->devices, *fewest + 1) << round;  // one more where the estimate scatters
    ASSERT_LE(*found.choice->latency_s, static_cast<double>(demand.bounds[0].limit) / 1e9) << round;
  }
}

}  // namespace
}  // namespace deepgap
