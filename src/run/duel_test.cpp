// Duels with contenders that are scripts: whoever fails, hangs, dies or speaks nonsense at whatever moment, every Job has its Record.
#include "record/duel_set.h"
#include "run/scripted_host.h"
#include "run/supervisor.h"
#include "stats/sequential.h"
#include "worker/output_sketch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace deepgap {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr Nanoseconds s = 1'000'000'000, ms = 1'000'000;

using Script = ScriptedLink::Script;

Frame record_of(const Frame& request, Outcome outcome = Outcome::ok, const std::string& reason = "") {
  return scripted_record(request, outcome, reason, "turns", {}, 100);
}

nlohmann::json answers_of(std::vector<float> values, double min_sqnr_db = 60) {
  const Shape shape{1, static_cast<int64_t>(values.size())};
  const TensorView view{DataType::f32, shape, reinterpret_cast<const std::byte*>(values.data())};
  OutputSketch sketch = sketch_of({&view, 1}, 1);
  sketch.min_sqnr_db = min_sqnr_db;
  return {{"answers", sketch_to_json(sketch)}};
}

nlohmann::json gave(double items_per_s, double seconds = 0.25) { return {{"items_per_s", items_per_s}, {"seconds", seconds}}; }

// The reaction of a contender to its turn number `turn`, those to get going included; false: as it usually does.
using Surprise = std::function<bool(ScriptedLink& worker, int turn)>;

struct Contending {
  Nanoseconds loads = 1 * s, turn = 250 * ms;
  double items_per_s = 100;
  nlohmann::json ready = answers_of({1, 2, 3});
  Surprise surprise = nullptr;
};

Script contender(const Contending& how) {
  auto order = std::make_shared<Frame>();
  auto turns = std::make_shared<int>(0);
  return [=](ScriptedLink& worker, const Frame& frame) {
    if (kind_of(frame) == "run") {
      *order = frame;
      worker.say(how.loads, "ready", how.ready);
    } else if (kind_of(frame) == "over") {
      worker.say(0, record_of(*order));
    } else {
      const int turn = (*turns)++;
      if (how.surprise && how.surprise(worker, turn)) return;
      const double scatter = 1 + 0.005 * std::sin(how.items_per_s * turn);  // each contender has its own
      worker.say(how.turn, "done", gave(how.items_per_s * scatter));
    }
  };
}

Script refuses(const std::string& reason) {
  return [=](ScriptedLink& worker, const Frame& frame) { worker.say(1 * s, record_of(frame, Outcome::refused, reason)); };
}

class DuelTest : public testing::Test {
 protected:
  std::vector<Job> jobs(size_t count, const std::string& axis = "native.isa") {
    std::vector<Point> points(count);
    std::vector<std::string> values;
    for (size_t i = 0; i < count; ++i) {
      points[i].model = "resnet18";
      points[i].threads = 1;
      values.push_back(fmt::format("v{}", i + 1));
      if (axis == "model") points[i].model = values[i];
      if (axis == "native.isa") points[i].options[axis] = values[i];
    }
    join_duel(points, axis, values);
    std::vector<Job> jobs(count);
    for (size_t i = 0; i < count; ++i) {
      jobs[i].point = points[i];
      jobs[i].point_id = point_id(points[i]);
      jobs[i].stopping.name = "duel";
      jobs[i].stopping.interval = 0.02;
      jobs[i].stopping.budget = 120 * s;
    }
    return jobs;
  }
  std::vector<Record> duel(std::vector<Job> jobs, std::vector<Script> scripts) {
    host_.scripts = std::move(scripts);
    SupervisorSettings settings;
    settings.timeout = 10s;
    settings.run_id = "run";
    Supervisor supervisor(
        settings, host_, [](const Job&, const std::string&, uint64_t) {}, [](const Job&, Record&) {});
    std::vector<Record> records;
    const size_t count = jobs.size();
    supervisor.serve({"group", std::move(jobs)}, [&](const Job& job, Record&& record) {
      EXPECT_EQ(point_id(record.point), job.point_id);
      records.push_back(std::move(record));
    });
    EXPECT_EQ(records.size(), count) << "one for each, whatever happened";
    EXPECT_EQ(host_.alive, 0) << "no worker outlives its duel";
    return records;
  }
  static std::string result_of(const Record& record) { return std::get<std::string>(record.facts.at("duel.result")); }

  ScriptedHost host_;
};

TEST_F(DuelTest, EndsWhenADifferenceIsKnown) {
  const auto records = duel(jobs(2), {contender({}), contender({.items_per_s = 107})});
  EXPECT_EQ(records[1].verdict, Verdict::valid) << records[1].reason;
  const Estimate& ratio = records[1].estimates.at("duel_ratio");
  EXPECT_GT(ratio.low.value_or(0), 1);
  EXPECT_GT(host_.now(), 40 * s) << "a state of the machine could make 7 % for a shorter time";
  EXPECT_LT(host_.now(), 90 * s);
}

TEST_F(DuelTest, TwiceTheSpeedIsKnownWithinSeconds) {
  const auto records = duel(jobs(2), {contender({}), contender({.items_per_s = 200})});
  EXPECT_EQ(records[1].verdict, Verdict::valid) << records[1].reason;
  EXPECT_LE(host_.now(), (2 + 1 + 6) * s) << "loads and rounds to get going included";
  EXPECT_THAT(result_of(records[1]), HasSubstr("throughput 2.00x"));
}

TEST_F(DuelTest, AShortestDurationMakesTheIntervalNarrow) {
  auto long_one = jobs(2);
  for (Job& job : long_one) job.stopping.duration = 100 * s;
  const auto records = duel(std::move(long_one), {contender({}), contender({.items_per_s = 107})});
  EXPECT_EQ(records[0].verdict, Verdict::valid) << records[0].reason;
  EXPECT_EQ(records[1].verdict, Verdict::valid) << records[1].reason;
  const Estimate& ratio = records[1].estimates.at("duel_ratio");
  EXPECT_NEAR(ratio.value, 1.07, 0.002);
  EXPECT_GT(ratio.low.value_or(0), 1.05);
  EXPECT_LT(ratio.high.value_or(9), 1.09);
  EXPECT_GE(ratio.n, 200) << "100 s of turns: before that a state that lasts would look the same";
  EXPECT_EQ(records[0].estimates.count("duel_ratio"), 0U);
  EXPECT_EQ(host_.now(), 2 * s + (2 + std::get<int64_t>(records[0].facts.at("duel.pairs"))) * 500 * ms)
      << "loaded one after the other, two rounds to get going, and the pairs";
  EXPECT_THAT(result_of(records[1]), HasSubstr("1.070x"));
}

TEST_F(DuelTest, KnowsTheSameWhenItSeesIt) {
  const auto records = duel(jobs(2), {contender({}), contender({.items_per_s = 100.1})});
  EXPECT_EQ(records[1].verdict, Verdict::valid) << records[1].reason;
  EXPECT_THAT(result_of(records[1]), HasSubstr("the same throughput as v1 within 2 %"));
}

TEST_F(DuelTest, TheBudgetEndsWhatIsNotSettledAndSaysWhatItWouldTake) {
  auto noisy = contender({.surprise = [](ScriptedLink& worker, int turn) {
    worker.say(250 * ms, "done", gave(100 + 60 * std::sin(1.7 * turn * turn)));
    return true;
  }});
  const auto records = duel(jobs(2), {contender({}), noisy});
  EXPECT_EQ(records[1].verdict, Verdict::unstable);
  EXPECT_THAT(records[1].reason, HasSubstr("its budget is spent; needs about"));
  EXPECT_GT(records[1].estimates.at("duel_needs_s").value, 60);
  EXPECT_EQ(records[0].verdict, Verdict::unstable);
  EXPECT_GE(host_.now(), 122 * s);
  EXPECT_LE(host_.now(), 123 * s);
}

// The budget counts by the workers' virtual clocks, because their turns take no real time here.
TEST_F(DuelTest, TheBudgetCountsTheTimeOfTurnsThatTakeNone) {
  const auto at_once = [](double items_per_s) {
    return contender({.surprise = [=](ScriptedLink& worker, int turn) {
      worker.say(1, "done", gave(items_per_s * (1 + 0.3 * std::sin(1.7 * turn * turn))));
      return true;
    }});
  };
  auto short_one = jobs(2);
  for (Job& job : short_one) job.stopping.budget = 50 * s;
  const auto records = duel(std::move(short_one), {at_once(100), at_once(101)});
  EXPECT_THAT(records[1].reason, HasSubstr("its budget is spent"));
  EXPECT_LE(std::get<int64_t>(records[0].facts.at("duel.pairs")), 100) << "a pair is half a second";
  EXPECT_GE(std::get<int64_t>(records[0].facts.at("duel.pairs")), 90);
}

TEST_F(DuelTest, OfTooFewPairsNothingIsSaid) {
  auto short_one = jobs(2);
  for (Job& job : short_one) job.stopping.budget = 3 * s;
  const auto records = duel(std::move(short_one), {contender({}), contender({})});
  EXPECT_EQ(records[1].estimates.count("duel_ratio"), 0U);
  EXPECT_THAT(records[1].reason, HasSubstr("after 4 pairs of time slices"));
}

TEST_F(DuelTest, BeforeAHundredSecondsAnIntervalAllowsForStatesOfTheMachine) {
  auto short_one = jobs(2);
  for (Job& job : short_one) job.stopping.budget = 20 * s;
  const auto records = duel(std::move(short_one), {contender({}), contender({.items_per_s = 110})});
  EXPECT_EQ(records[1].verdict, Verdict::unstable);
  const Estimate& ratio = records[1].estimates.at("duel_ratio");
  EXPECT_NEAR(ratio.value, 1.1, 0.01);
  EXPECT_LT(ratio.low.value_or(9), 1);
  EXPECT_THAT(records[1].reason, HasSubstr("no significant difference in throughput from v1, 1.10"));
  EXPECT_THAT(records[1].reason, HasSubstr("; its budget is spent; needs about"));
  EXPECT_NEAR(records[1].estimates.at("duel_needs_s").value, 22, 8) << "some 40 s in all";
}

TEST_F(DuelTest, ABudgetThatEndsBeforeAPairKeepsItsRecords) {
  auto short_one = jobs(2);
  for (Job& job : short_one) job.stopping.budget = 1 * ms;
  for (const Record& record : duel(std::move(short_one), {contender({}), contender({})})) {
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.verdict, Verdict::unstable);
    EXPECT_THAT(record.reason, HasSubstr("its budget is spent"));
  }
}

TEST_F(DuelTest, OneThatDiesInItsTurnEndsItAndAllIsKept) {
  const Surprise dies = [](ScriptedLink& worker, int turn) {
    if (turn < 30) return false;
    worker.die(100 * ms, {0, 11});
    return true;
  };
  const auto records = duel(jobs(2), {contender({}), contender({.items_per_s = 101.9, .surprise = dies})});
  EXPECT_EQ(records[1].outcome, Outcome::crashed);
  EXPECT_THAT(records[1].reason, HasSubstr("SIGSEGV"));
  EXPECT_EQ(records[0].outcome, Outcome::ok);
  EXPECT_THAT(records[0].reason, HasSubstr("arm v2: crashed: the worker ended"));
  EXPECT_GT(records[0].estimates.at("throughput").value, 0);
}

TEST_F(DuelTest, OneThatDiesWhileItWaitsIsFound) {
  const Surprise dies_afterwards = [](ScriptedLink& worker, int turn) {
    if (turn != 10) return false;
    worker.say(250 * ms, "done", gave(100));
    worker.die(300 * ms, {9, 0});
    return true;
  };
  const auto records = duel(jobs(2), {contender({.surprise = dies_afterwards}), contender({})});
  EXPECT_EQ(records[0].outcome, Outcome::crashed);
  EXPECT_EQ(records[1].outcome, Outcome::ok);
  EXPECT_THAT(records[1].reason, HasSubstr("arm v1: crashed"));
}

TEST_F(DuelTest, OneThatHangsOrAnswersLateIsTimedOut) {
  for (const Nanoseconds late : {never, 11 * s}) {
    host_ = ScriptedHost();
    const Surprise hangs = [late](ScriptedLink& worker, int turn) {
      if (turn != 20) return false;
      if (late != never) worker.say(late, "done", gave(100));
      return true;
    };
    const auto records = duel(jobs(2), {contender({}), contender({.surprise = hangs})});
    EXPECT_EQ(records[1].outcome, Outcome::timed_out);
    EXPECT_EQ(records[0].outcome, Outcome::ok);
  }
}

TEST_F(DuelTest, NonsenseIsItsSendersFault) {
  const auto at_turn_5 = [](const std::function<void(ScriptedLink&)>& what) {
    return Surprise([what](ScriptedLink& worker, int turn) {
      if (turn == 5) what(worker);
      return turn == 5;
    });
  };
  for (const auto& what : {std::function<void(ScriptedLink&)>([](ScriptedLink& w) { w.speak_nonsense(1 * ms); }),
                           {[](ScriptedLink& w) {
                             w.say(1 * ms, "done", {{"items_per_s", 3}});
                           }},
                           {[](ScriptedLink& w) { w.say(1 * ms, "meet"); }}}) {
    host_ = ScriptedHost();
    const auto records = duel(jobs(2), {contender({}), contender({.surprise = at_turn_5(what)})});
    EXPECT_EQ(records[1].outcome, Outcome::crashed) << records[1].reason;
    EXPECT_EQ(records[0].outcome, Outcome::ok);
  }
  host_ = ScriptedHost();
  const auto records = duel(jobs(2), {contender({}), contender({.ready = {{"answers", "x"}}})});
  EXPECT_EQ(records[1].outcome, Outcome::crashed);
  EXPECT_EQ(records[0].outcome, Outcome::refused) << "nobody to be compared with, and no turn was taken";
}

TEST_F(DuelTest, ATurnThatBroughtNothingIsNoPair) {
  const Surprise empty_handed = [](ScriptedLink& worker, int turn) {
    if (turn % 2 == 0) return false;
    worker.say(250 * ms, "done", gave(0));
    return true;
  };
  const auto records = duel(jobs(2), {contender({}), contender({.items_per_s = 110, .surprise = empty_handed})});
  EXPECT_EQ(records[1].verdict, Verdict::valid);
  EXPECT_GT(std::get<int64_t>(records[1].facts.at("duel.pairs")), 40) << "rounds";
}

TEST_F(DuelTest, OneThatIsRefusedLeavesNoDuelOfTwo) {
  const auto records = duel(jobs(2), {contender({}), refuses("no such device")});
  EXPECT_EQ(records[1].outcome, Outcome::refused);
  EXPECT_EQ(records[0].outcome, Outcome::refused);
  EXPECT_EQ(records[0].reason, "arm v2: refused: no such device");
  host_ = ScriptedHost();
  const auto others = duel(jobs(2), {refuses("no such device"), contender({})});
  EXPECT_EQ(host_.started, 1U) << "the second is not loaded for nothing";
  EXPECT_EQ(others[1].outcome, Outcome::refused);
}

TEST_F(DuelTest, OfThreeTheOthersGoOn) {
  const auto records = duel(jobs(3), {contender({}), refuses("no such device"), contender({.items_per_s = 90})});
  EXPECT_EQ(records[1].outcome, Outcome::refused);
  EXPECT_EQ(records[2].verdict, Verdict::valid) << records[2].reason;
  EXPECT_THAT(result_of(records[2]), HasSubstr("throughput 0.90"));
  EXPECT_EQ(records[0].outcome, Outcome::ok);
}

// For contenders that went on, the line says what ended them and not who had failed long before.
TEST_F(DuelTest, OfThreeTheOthersGoOnToTheirOwnEnd) {
  const Surprise dies = [](ScriptedLink& worker, int turn) {
    if (turn == 5) worker.die(100 * ms, {0, 11});
    return turn == 5;
  };
  auto short_one = jobs(3);
  for (Job& job : short_one) job.stopping.budget = 50 * s;
  const auto records = duel(short_one, {contender({}), contender({.surprise = dies}), contender({})});
  EXPECT_THAT(records[1].reason, HasSubstr("SIGSEGV"));
  EXPECT_THAT(records[2].reason, HasSubstr("its budget is spent; needs about"));
  EXPECT_THAT(records[2].reason, testing::Not(HasSubstr("SIGSEGV")));
  EXPECT_THAT(records[0].reason, HasSubstr("2 of 2 arms show no significant difference from it: its budget is spent"));
}

TEST_F(DuelTest, OfThreeTheLastToFailIsWhoEndedIt) {
  const auto dies_in = [](int last) {
    return Surprise([last](ScriptedLink& worker, int turn) {
      if (turn == last) worker.die(100 * ms, {0, 11});
      return turn == last;
    });
  };
  const auto records = duel(jobs(3), {contender({.surprise = dies_in(30)}), contender({.surprise = dies_in(5)}), contender({})});
  EXPECT_EQ(records[0].outcome, Outcome::crashed);
  EXPECT_THAT(records[2].reason, HasSubstr("arm v1: crashed"));
}

TEST_F(DuelTest, ThreeShareTheErrorOut) {
  const auto long_ones = [&](size_t count) {
    auto all = jobs(count);
    for (Job& job : all) job.stopping.duration = 110 * s;
    return all;
  };
  const auto two = duel(long_ones(2), {contender({}), contender({.items_per_s = 110})});
  host_ = ScriptedHost();
  const auto three = duel(long_ones(3), {contender({}), contender({.items_per_s = 110}), contender({.items_per_s = 110})});
  const auto width = [](const Record& record) { return *record.estimates.at("duel_ratio").high - *record.estimates.at("duel_ratio").low; };
  EXPECT_GT(width(three[1]), width(two[1]) * 1.02);
}

TEST_F(DuelTest, OtherAnswersAreRefusedWhereTheReferenceDiffers) {
  const auto near = answers_of({1.0001F, 2, 3}), other = answers_of({3, 2, 1});
  EXPECT_EQ(duel(jobs(2, "model"), {contender({}), contender({.ready = near})})[1].outcome, Outcome::ok);
  host_ = ScriptedHost();
  const auto records = duel(jobs(2, "model"), {contender({}), contender({.ready = other})});
  EXPECT_EQ(records[1].outcome, Outcome::refused);
  EXPECT_THAT(records[1].reason, HasSubstr("v2 gives other answers than v1: output 0 differs"));
  EXPECT_EQ(records[0].outcome, Outcome::refused);
  host_ = ScriptedHost();
  EXPECT_EQ(duel(jobs(2), {contender({}), contender({.ready = other})})[1].outcome, Outcome::ok) << "both were held against one reference";
}

TEST_F(DuelTest, AnArmOfFewerBitsIsHeldToItsOwnPrecision) {
  const std::vector<float> rounded{1.01F, 2, 3};  // 51 dB from the first arm's
  EXPECT_EQ(duel(jobs(2, "model"), {contender({}), contender({.ready = answers_of(rounded)})})[1].outcome, Outcome::refused);
  host_ = ScriptedHost();
  EXPECT_EQ(duel(jobs(2, "model"), {contender({}), contender({.ready = answers_of(rounded, 20)})})[1].outcome, Outcome::ok);
}

TEST_F(DuelTest, AnInterruptKeepsWhatThereIs) {
  host_.interrupt_at = 30 * s + 100 * ms;
  const auto records = duel(jobs(2), {contender({}), contender({.items_per_s = 101.9})});
  EXPECT_EQ(host_.now(), 30 * s + 250 * ms) << "the turn was waited for";
  for (const Record& record : records) {
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.verdict, Verdict::unstable);
    EXPECT_THAT(record.reason, HasSubstr("interrupted by the user"));
  }
  host_ = ScriptedHost();
  host_.interrupt_at = 500 * ms;
  for (const Record& record : duel(jobs(2), {contender({}), contender({})})) EXPECT_EQ(record.outcome, Outcome::interrupted);
}

TEST_F(DuelTest, AnInterruptDoesNotWaitForOneThatHangs) {
  const Surprise hangs = [](ScriptedLink&, int turn) { return turn == 20; };
  host_.interrupt_at = 15 * s;
  const auto records = duel(jobs(2), {contender({}), contender({.surprise = hangs})});
  EXPECT_EQ(records[1].outcome, Outcome::interrupted);
  EXPECT_EQ(records[0].outcome, Outcome::ok);
  EXPECT_LE(host_.now(), 18 * s + 1 * ms);
}

TEST_F(DuelTest, AWorkerThatCannotBeStartedLeavesItToResume) {
  for (const Record& record : duel(jobs(2), {contender({})})) {
    EXPECT_EQ(record.outcome, Outcome::interrupted);
    EXPECT_THAT(record.reason, HasSubstr("--resume"));
  }
}

}  // namespace
}  // namespace deepgap
