// Interleaved engines: which Points they are, and workers that are scripts: whoever fails, hangs, spins or lacks memory, every Job has its
// Record, and nobody loses one to another's failure.
#include "run/interleave.h"

#include "record/duel_set.h"
#include "record/record_json.h"
#include "run/scripted_host.h"
#include "run/supervisor.h"
#include "worker/output_sketch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr Nanoseconds s = 1'000'000'000, ms = 1'000'000;

using Script = ScriptedLink::Script;

Job job_of(const std::string& backend, int64_t batch = 1) {
  Job job;
  job.point.model = "resnet18";
  job.point.scenario = "batch";
  job.point.threads = 1;
  job.point.backend = backend;
  job.point.batch = batch;
  job.point_id = point_id(job.point);
  job.interleave = true;
  return job;
}

struct Chosen {
  std::vector<bool> interleaved;
  std::string note;
};

Chosen choose(std::vector<Job> jobs, const std::string& unsupported = "") {
  InspectedPlan plan;
  for (Job& job : jobs) {
    job.point_id = point_id(job.point);
    plan.points[job.point_id].supported = job.point.backend != unsupported;
  }
  plan.jobs = std::move(jobs);
  Chosen chosen;
  chosen.note = choose_interleaved(plan);
  for (const Job& job : plan.jobs) chosen.interleaved.push_back(job.interleave);
  return chosen;
}

TEST(Interleave, PointsThatDifferInTheirEngineAlone) {
  std::vector<Job> jobs{job_of("native"), job_of("onnxruntime"), job_of("native", 8), job_of("openvino", 16)};
  jobs[0].point.options["native.isa"] = "avx2";
  const Chosen chosen = choose(jobs);
  EXPECT_THAT(chosen.interleaved, ElementsAre(true, true, false, false)) << "an engine's own option is part of the engine";
  EXPECT_EQ(chosen.note, "");
}

TEST(Interleave, WhatOneEngineRefusesTheOthersMeasure) {
  EXPECT_THAT(choose({job_of("native"), job_of("openvino"), job_of("onnxruntime")}, "openvino").interleaved,
              ElementsAre(true, false, true));
  EXPECT_THAT(choose({job_of("native"), job_of("openvino")}, "openvino").interleaved, ElementsAre(false, false));
}

TEST(Interleave, WhatOthersWouldChangeStaysApart) {
  const auto note_of = [](const auto& change) {
    std::vector<Job> jobs{job_of("native"), job_of("onnxruntime")};
    for (Job& job : jobs) change(job);
    const Chosen chosen = choose(jobs);
    EXPECT_THAT(chosen.interleaved, ElementsAre(false, false));
    return chosen.note;
  };
  EXPECT_THAT(note_of([](Job& job) { job.point.scenario = "server"; }), HasSubstr("one after the other, not interleaved: scenario server"));
  EXPECT_THAT(note_of([](Job& job) { job.point.task = Task::train; }), HasSubstr("task train"));
  EXPECT_THAT(note_of([](Job& job) { job.point.placement.processes = 2; }), HasSubstr("several processes"));
  EXPECT_THAT(note_of([](Job& job) { job.point.placement.devices = {DeviceId{"", "cuda", 0}}; }), HasSubstr("on cuda the power"));
  EXPECT_THAT(note_of([](Job& job) { job.point.options["streams"] = "4"; }), HasSubstr("streams=4 keeps several queries in flight"));
  EXPECT_THAT(note_of([](Job& job) { job.energy = true; }), HasSubstr("energy"));
  EXPECT_EQ(note_of([](Job& job) { job.interleave = false; }), "") << "nobody asked for it";
}

TEST(Interleave, SeveralValuesOfOneEnginesOptionStayApart) {
  std::vector<Job> jobs{job_of("native"), job_of("native"), job_of("onnxruntime")};
  jobs[0].point.options["native.isa"] = "avx2";
  const Chosen chosen = choose(jobs);
  EXPECT_THAT(chosen.interleaved, ElementsAre(false, false, false));
  EXPECT_THAT(chosen.note, HasSubstr("an option of one engine has several values"));
  jobs.pop_back();
  EXPECT_EQ(choose(jobs).note, "") << "one engine";
}

TEST(Interleave, EnginesServeOneSetAfterTheOther) {
  EXPECT_THAT(interleaved_sets({job_of("native"), job_of("native", 8), job_of("onnxruntime"), job_of("onnxruntime", 8)}),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_EQ(interleaved_group(job_of("native")), interleaved_group(job_of("onnxruntime", 8)));
}

TEST(Interleave, SlicesFitTheWindow) {
  StoppingSettings stopping;
  stopping.duration = 10 * s;
  EXPECT_EQ(slice_length(stopping), 500 * ms);
  stopping.duration.reset();
  EXPECT_EQ(slice_length(stopping), 1 * s);
  stopping.budget = 600 * ms;
  EXPECT_EQ(slice_length(stopping), 100 * ms);
}

// The reaction of an engine to a turn; false: it does as usual.
using Surprise = std::function<bool(ScriptedLink& worker, int turn)>;

struct Engine {
  double items_per_s = 100;
  int turns = 10;  // until its own rule has ended, those to get going not counted
  double cpus_waiting = 0, memory_bytes = 1e6;
  Surprise surprise = nullptr;
};

Script engine(const Engine& how) {
  auto order = std::make_shared<Frame>();
  auto turns = std::make_shared<int>(0);
  return [=](ScriptedLink& worker, const Frame& frame) {
    if (kind_of(frame) == "run") {
      *order = frame;
      const bool interleaved = order_from_json(frame.header.at("order")).interleaved;
      const nlohmann::json ready{{"answers", sketch_to_json({})}, {"memory_bytes", how.memory_bytes}};
      if (interleaved) return worker.say(1 * s, "ready", ready);
      return worker.say(1 * s, scripted_record(frame, Outcome::ok, "", "steady", {}, how.items_per_s));
    }
    if (kind_of(frame) == "over") return worker.say(0, scripted_record(*order, Outcome::ok, "", "steady", {}, how.items_per_s));
    const nlohmann::json payload = frame.header.at("payload");
    if (payload.at("pair").get<int>() >= 0) ++*turns;
    if (how.surprise && how.surprise(worker, *turns)) return;
    const double scatter = 1 + 0.002 * std::sin(how.items_per_s * *turns);
    worker.say(
        payload.at("slice_ns").get<Nanoseconds>(), "done",
        {{"items_per_s", how.items_per_s * scatter}, {"seconds", 1}, {"ended", *turns >= how.turns}, {"cpus_waiting", how.cpus_waiting}});
  };
}

Script refuses(const std::string& reason) {
  return [=](ScriptedLink& worker, const Frame& frame) {
    worker.say(1 * s, scripted_record(frame, Outcome::refused, reason, "steady", {}, 0));
  };
}

Script dies_at_load(ExitState how) {
  return [=](ScriptedLink& worker, const Frame&) { worker.die(1 * s, how); };
}

class InterleavedEngines : public testing::Test {
 protected:
  std::vector<Record> measure(const std::vector<std::string>& engines, std::vector<Script> scripts, bool keep_cut = false) {
    host_.scripts = std::move(scripts);
    SupervisorSettings settings;
    settings.timeout = 10s;
    settings.run_id = "run";
    settings.keep_cut_windows = keep_cut;
    settings.note = [this](const std::string& line) { notes_.push_back(line); };
    Supervisor supervisor(
        settings, host_, [](const Job&, const std::string&, uint64_t) {}, [](const Job&, Record&) {});
    std::vector<Job> jobs;
    for (const std::string& name : engines) jobs.push_back(job_of(name));
    std::vector<Record> records;
    supervisor.serve({"group", jobs}, [&](const Job& job, Record&& record) {
      EXPECT_EQ(point_id(record.point), job.point_id);
      records.push_back(std::move(record));
    });
    EXPECT_EQ(records.size(), engines.size()) << "one for each, whatever happened";
    EXPECT_EQ(host_.alive, 0);
    return records;
  }
  static std::string fact(const Record& record, const char* key) {
    const auto found = record.facts.find(key);
    return found == record.facts.end() ? "" : std::get<std::string>(found->second);
  }

  ScriptedHost host_;
  std::vector<std::string> notes_;
};

TEST_F(InterleavedEngines, EachIsAResultOfItsOwnAndComparedWithTheFirst) {
  const auto records = measure({"native", "onnxruntime"}, {engine({.turns = 20}), engine({.items_per_s = 200, .turns = 20})});
  EXPECT_FALSE(contender_place(records[0].point)) << "the same Point as measured alone";
  EXPECT_EQ(fact(records[0], interleaved_arms_fact), "native + onnxruntime");
  EXPECT_EQ(fact(records[1], interleaved_arm_fact), "2/2");
  EXPECT_THAT(fact(records[1], interleaved_result_fact), HasSubstr("throughput 2.00x"));
  const Estimate& ratio = records[1].estimates.at("duel_ratio");
  EXPECT_NEAR(ratio.value, 2, 0.02);
  EXPECT_GT(ratio.low.value_or(0), 1);
}

TEST_F(InterleavedEngines, OneThatHasEndedTakesNoMoreTurns) {
  const auto records = measure({"native", "onnxruntime"}, {engine({.turns = 3}), engine({.turns = 12})});
  EXPECT_EQ(records[0].outcome, Outcome::ok);
  EXPECT_EQ(records[1].outcome, Outcome::ok);
  EXPECT_LT(host_.now(), (2 + 1 + 3 + 12 + 1) * s) << "each as long as it takes alone";
  EXPECT_THAT(fact(records[1], interleaved_result_fact), HasSubstr("no significant difference in throughput from native after 3 pairs"));
}

TEST_F(InterleavedEngines, OneThatIsRefusedAtLoadLosesNoOther) {
  for (const size_t which : {0, 1}) {
    host_ = {};
    std::vector<Script> scripts{engine({}), engine({}), engine({})};
    scripts[which] = refuses("no such operator");
    const auto records = measure({"native", "onnxruntime", "openvino"}, std::move(scripts));
    EXPECT_EQ(records[which].outcome, Outcome::refused);
    EXPECT_EQ(records[1 - which].outcome, Outcome::ok) << records[1 - which].reason;
    EXPECT_EQ(records[2].outcome, Outcome::ok);
    EXPECT_THAT(fact(records[2], interleaved_arms_fact), HasSubstr(" + openvino")) << "the other two are compared";
  }
}

TEST_F(InterleavedEngines, OneThatDiesBesideOthersIsTriedAlone) {
  const auto dies_at_turn = [](int which) {
    return [which](ScriptedLink& worker, int turn) {
      if (turn == which) worker.die(10 * ms, {0, 9});
      return turn == which;
    };
  };
  auto records = measure({"native", "onnxruntime"}, {engine({}), engine({.surprise = dies_at_turn(4)}), engine({.items_per_s = 7})});
  EXPECT_EQ(records[0].outcome, Outcome::ok) << records[0].reason;
  EXPECT_EQ(records[1].outcome, Outcome::ok) << records[1].reason;
  EXPECT_EQ(records[1].estimates.at("throughput").value, 7);
  EXPECT_THAT(fact(records[1], "interleaved.apart"), HasSubstr("crashed beside other engines"));
  host_ = {};
  records = measure({"native", "onnxruntime"}, {engine({}), dies_at_load({0, 9}), dies_at_load({0, 11})});
  EXPECT_EQ(records[0].outcome, Outcome::ok) << records[0].reason;
  EXPECT_EQ(records[1].outcome, Outcome::crashed);
}

TEST_F(InterleavedEngines, OneThatHangsIsTimedOutAndTheOthersGoOn) {
  const auto hangs = [](ScriptedLink&, int turn) { return turn == 4; };
  const auto records = measure({"native", "onnxruntime"}, {engine({.surprise = hangs}), engine({})});
  EXPECT_EQ(records[0].outcome, Outcome::timed_out);
  EXPECT_EQ(records[1].outcome, Outcome::ok) << records[1].reason;
}

TEST_F(InterleavedEngines, EnginesThatSpinAreMeasuredApart) {
  const auto records = measure({"native", "onnxruntime"},
                               {engine({}), engine({.cpus_waiting = 0.9}), engine({.items_per_s = 11}), engine({.items_per_s = 12})});
  EXPECT_EQ(records[0].estimates.at("throughput").value, 11);
  EXPECT_EQ(records[1].estimates.at("throughput").value, 12);
  EXPECT_EQ(fact(records[0], interleaved_arms_fact), "");
  ASSERT_EQ(notes_.size(), 2U);
  EXPECT_THAT(notes_[0], HasSubstr("native is measured apart: onnxruntime uses 0.900 CPUs while it waits"));
}

TEST_F(InterleavedEngines, WithoutMemoryForAllTheRestIsMeasuredApart) {
  const auto records = measure({"native", "onnxruntime"}, {engine({.memory_bytes = 1e18}), engine({.items_per_s = 12})});
  EXPECT_EQ(records[0].outcome, Outcome::ok);
  EXPECT_EQ(records[1].estimates.at("throughput").value, 12);
  EXPECT_THAT(fact(records[1], "interleaved.apart"), HasSubstr("memory"));
  EXPECT_EQ(fact(records[0], interleaved_arms_fact), "");
}

TEST_F(InterleavedEngines, AnInterruptEndsAllOfThem) {
  host_.interrupt_at = 5 * s;
  const auto records = measure({"native", "onnxruntime"}, {engine({}), engine({})});
  for (const Record& record : records) EXPECT_EQ(record.outcome, Outcome::interrupted) << record.reason;
  EXPECT_EQ(host_.started, 2U) << "nothing is tried again";
}

TEST_F(InterleavedEngines, WindowsThatMayBeCutAreKept) {
  host_.interrupt_at = 8 * s;
  const auto records = measure({"native", "onnxruntime"}, {engine({}), engine({})}, true);
  for (const Record& record : records) EXPECT_EQ(record.outcome, Outcome::ok) << record.reason;
}

}  // namespace
}  // namespace deepgap
