// The Supervisor with workers that are scripts: whatever they do becomes the Record of the Job that they did it to.
#include "run/supervisor.h"

#include "record/tenant_set.h"
#include "run/scripted_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr Nanoseconds s = 1'000'000'000;

using Script = ScriptedLink::Script;

Frame record_of(const Frame& request, Outcome outcome = Outcome::ok, const std::string& reason = "") {
  return scripted_record(request, outcome, reason, "steady", {{0, 1 * s, 1 * s, 2 * s, 1, Status::ok}}, 1);
}

Script answers(Nanoseconds after = 1 * s, Outcome outcome = Outcome::ok, const std::string& reason = "") {
  return [=](ScriptedLink& worker, const Frame& frame) {
    worker.beat(0, "steady");
    worker.say(after, record_of(frame, outcome, reason));
  };
}

// Measures together with others.
Script meets(Nanoseconds after, const Script& then) {
  auto order = std::make_shared<Frame>();
  return [=](ScriptedLink& worker, const Frame& frame) {
    if (kind_of(frame) == "met") return then(worker, *order);
    *order = frame;
    worker.say(after, "meet");
  };
}

Script dies(Nanoseconds after, ExitState how) {
  return [=](ScriptedLink& worker, const Frame&) {
    worker.beat(0, "load");
    worker.die(after, how);
  };
}

const Script hangs = [](ScriptedLink& worker, const Frame&) { worker.beat(2 * s, "warm_up"); };

Job job_of(int64_t batch) {
  Job job;
  job.point.model = "resnet18";
  job.point.backend = "null";
  job.point.batch = batch;
  job.point_id = std::to_string(batch);
  return job;
}

class SupervisorTest : public testing::Test {
 protected:
  // The Records that came, in the jobs' order.
  std::vector<Record> serve(std::vector<Job> jobs, std::vector<Script> scripts) {
    host_.scripts = std::move(scripts);
    host_.started = 0;
    SupervisorSettings settings;
    settings.timeout = 10s;
    settings.run_id = "run";
    Supervisor supervisor(
        settings, host_, [](const Job&, const std::string&, uint64_t) {},
        [](const Job&, Record& record) { record.backend_version = "known"; });
    std::vector<Record> records;
    supervisor.serve({"group", std::move(jobs)}, [&](const Job&, Record&& record) { records.push_back(std::move(record)); });
    EXPECT_EQ(host_.alive, 0) << "no worker outlives its batch";
    return records;
  }
  Record serve_one(Script script) {
    const auto records = serve({job_of(1)}, {std::move(script)});
    EXPECT_EQ(records.size(), 1U);
    return records.front();
  }

  ScriptedHost host_;
};

TEST_F(SupervisorTest, OneWorkerServesTheJobsOfABatch) {
  const auto records = serve({job_of(1), job_of(2)}, {answers()});
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].point.batch, 2);
  EXPECT_EQ(records[1].run_id, "run");
  EXPECT_EQ(records[1].timings.size(), 1U);
  EXPECT_EQ(host_.started, 1U);
}

// The Batches come as the runs of a search do, one each.
TEST_F(SupervisorTest, AWorkerThatIsKeptServesTheNextBatchOfItsGroup) {
  host_.scripts = {answers(), answers(), answers()};
  host_.started = 0;
  {
    Supervisor supervisor(
        SupervisorSettings{.timeout = 10s, .run_id = "run"}, host_, [](const Job&, const std::string&, uint64_t) {},
        [](const Job&, Record&) {});
    const auto serve_one_of = [&](const std::string& group, bool keeps) {
      supervisor.serve({group, {job_of(1)}, keeps}, [](const Job&, Record&& record) { EXPECT_EQ(record.outcome, Outcome::ok); });
    };
    serve_one_of("group", true);
    serve_one_of("group", true);
    EXPECT_EQ(host_.started, 1U);
    EXPECT_EQ(host_.alive, 1);
    serve_one_of("another", true);
    EXPECT_EQ(host_.started, 2U);
    EXPECT_EQ(host_.alive, 1) << "the one of the first group is gone";
    serve_one_of("another", false);
    EXPECT_EQ(host_.started, 3U) << "a Batch for a fresh one";
    EXPECT_EQ(host_.alive, 0);
  }
}

TEST_F(SupervisorTest, AfterADeathTheRestGoesOnInAFreshWorker) {
  const auto records = serve({job_of(1), job_of(2)}, {dies(1 * s, {0, SIGSEGV}), answers()});
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].outcome, Outcome::crashed);
  EXPECT_EQ(records[0].reason, "the worker ended in phase load: killed by SIGSEGV");
  EXPECT_EQ(records[0].stderr_tail, "its last words");
  EXPECT_EQ(records[0].backend_version, "known");
  EXPECT_EQ(records[1].outcome, Outcome::ok);
}

TEST_F(SupervisorTest, SilenceIsTimedOutWithItsPhase) {
  const Record record = serve_one(hangs);
  EXPECT_EQ(record.outcome, Outcome::timed_out);
  EXPECT_EQ(record.reason, "no progress for 10 s in phase warm_up");
  EXPECT_EQ(host_.now(), 12 * s);
}

TEST_F(SupervisorTest, AnAnswerThatComesTooLateIsTimedOutAndTheWorkerGone) {
  const auto records = serve({job_of(1), job_of(2)}, {answers(11 * s), answers()});
  EXPECT_EQ(records[0].outcome, Outcome::timed_out);
  EXPECT_EQ(records[1].outcome, Outcome::ok) << "the late answer is not taken for the next Job's";
  EXPECT_EQ(records[1].point.batch, 2);
}

TEST_F(SupervisorTest, NonsenseIsACrash) {
  const Record record = serve_one([](ScriptedLink& worker, const Frame&) { worker.speak_nonsense(1 * s); });
  EXPECT_EQ(record.outcome, Outcome::crashed);
  const Record torn = serve_one([](ScriptedLink& worker, const Frame&) { worker.say(1 * s, "record"); });
  EXPECT_EQ(torn.outcome, Outcome::crashed);
}

TEST_F(SupervisorTest, AWorkerThatCannotBeStartedLeavesTheJobToResume) {
  const auto records = serve({job_of(1)}, {});
  EXPECT_EQ(records[0].outcome, Outcome::interrupted);
  EXPECT_EQ(records[0].reason, "the system has no process left; --resume measures it again");
}

TEST_F(SupervisorTest, AReferenceIsMadeByAWorkerOfItsOwn) {
  int asked = 0;
  const Script needs = [&](ScriptedLink& worker, const Frame& frame) {
    ++asked == 1 ? worker.say(1 * s, "needs_reference") : worker.say(1 * s, record_of(frame));
  };
  const Script makes = [&](ScriptedLink& worker, const Frame& frame) {
    EXPECT_EQ(kind_of(frame), "reference");
    worker.say(1 * s, Frame{{{"kind", "reference"}, {"unavailable", ""}}, {}});
  };
  EXPECT_EQ(serve({job_of(1)}, {needs, makes})[0].outcome, Outcome::ok);
}

TEST_F(SupervisorTest, WhyThereIsNoReferenceIsToldToThisAndLaterJobs) {
  std::vector<std::string> told;
  const Script needs = [&](ScriptedLink& worker, const Frame& frame) {
    told.push_back(frame.header.at("order").at("reference_unavailable"));
    told.back().empty() ? worker.say(1 * s, "needs_reference") : worker.say(1 * s, record_of(frame));
  };
  EXPECT_EQ(serve({job_of(1), job_of(2)}, {needs, dies(1 * s, {9, 0})}).size(), 2U);
  const std::string why = "the worker that made it ended: exit code 9";
  EXPECT_THAT(told, ElementsAre("", why, why));
}

TEST_F(SupervisorTest, AReferenceThatCannotBeFoundAgainIsNoFaultOfTheEngine) {
  std::vector<std::string> told;
  const Script needs = [&](ScriptedLink& worker, const Frame& frame) {
    told.push_back(frame.header.at("order").at("reference_unavailable"));
    told.back().empty() ? worker.say(1 * s, "needs_reference") : worker.say(1 * s, record_of(frame));
  };
  const Script makes = [&](ScriptedLink& worker, const Frame&) {
    worker.say(1 * s, Frame{{{"kind", "reference"}, {"unavailable", ""}}, {}});
  };
  for (const Record& record : serve({job_of(1), job_of(2)}, {needs, makes})) EXPECT_EQ(record.outcome, Outcome::ok);
  const std::string why = "it was made but could not be read again";
  EXPECT_THAT(told, ElementsAre("", "", why, why));
}

TEST_F(SupervisorTest, AnEngineThatDiesOfWrongInputsIsNotToBlame) {
  const Script divides = [](ScriptedLink& worker, const Frame& frame) {
    if (frame.header.at("order").at("reference_unavailable").get<std::string>().empty()) return worker.say(1 * s, "needs_reference");
    worker.beat(1 * s, "check");
    worker.die(2 * s, {0, SIGFPE});
  };
  const auto says = [](bool wrong_input) -> Script {
    return [wrong_input](ScriptedLink& worker, const Frame&) {
      worker.say(1 * s, Frame{{{"kind", "reference"}, {"unavailable", "node 'd' (Div): by 0"}, {"wrong_input", wrong_input}}, {}});
    };
  };
  const auto records = serve({job_of(1), job_of(2)}, {divides, says(true), divides});
  EXPECT_EQ(records[0].outcome, Outcome::refused);
  EXPECT_EQ(records[0].reason, "node 'd' (Div): by 0; the worker ended in phase check: killed by SIGFPE");
  EXPECT_EQ(records[1].outcome, Outcome::refused) << "it got a worker of its own";
  host_ = ScriptedHost();
  EXPECT_EQ(serve({job_of(1)}, {divides, says(false)})[0].outcome, Outcome::crashed);
}

TEST_F(SupervisorTest, AnInterruptedWorkerIsAskedForWhatItHas) {
  host_.interrupt_at = 1 * s;
  const auto records = serve({job_of(1), job_of(2)}, {answers(3 * s, Outcome::interrupted, "by the user")});
  ASSERT_EQ(records.size(), 1U) << "the rest is left out";
  EXPECT_EQ(records[0].reason, "interrupted by the user") << "the parent knows what ended it";
}

TEST_F(SupervisorTest, AnInterruptedWorkerThatGoesOnIsNotWaitedForLong) {
  host_.interrupt_at = 1 * s;
  const Record record = serve_one([](ScriptedLink& worker, const Frame&) {
    for (int i = 1; i < 20; ++i) worker.beat(i * s, "steady");
  });
  EXPECT_EQ(record.outcome, Outcome::interrupted);
  EXPECT_EQ(record.reason, "interrupted by the user; its worker did not end within 3 s and was killed");
  EXPECT_EQ(host_.now(), 4 * s);
}

Job ranks_of(int processes) {
  Job job = job_of(1);
  job.point.placement = {processes, {}};
  for (int i = 0; i < processes; ++i) job.point.placement.devices.push_back({"", "cuda", i});
  return job;
}

TEST_F(SupervisorTest, ProcessesOfAPointBeginTogetherAndGiveOneRecord) {
  std::vector<int64_t> begins;
  const Script begun = [&](ScriptedLink& worker, const Frame& order) { worker.say(1 * s, record_of(order)); };
  const auto noted = [&](ScriptedLink& worker, const Frame& frame) {
    if (kind_of(frame) == "met") begins.push_back(frame.header.at("payload").at("begin"));
    static_cast<void>(worker);
  };
  const auto both = [&](Nanoseconds after) -> Script {
    const Script inner = meets(after, begun);
    return [=](ScriptedLink& worker, const Frame& frame) {
      noted(worker, frame);
      inner(worker, frame);
    };
  };
  const auto records = serve({ranks_of(2)}, {both(2 * s), both(4 * s)});
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].outcome, Outcome::ok) << records[0].reason;
  EXPECT_EQ(records[0].facts.count("rank.1.throughput"), 1U);
  ASSERT_EQ(begins.size(), 2U);
  EXPECT_EQ(begins[0], begins[1]);
  EXPECT_GT(begins[0], 4 * s) << "when all have heard it";
}

TEST_F(SupervisorTest, WhatBecomesOfOneProcessBecomesOfThePoint) {
  Record record = serve({ranks_of(2)}, {meets(1 * s, hangs), meets(1 * s, dies(1 * s, {0, SIGKILL}))})[0];
  EXPECT_EQ(record.outcome, Outcome::crashed) << "although the other one hangs";
  EXPECT_THAT(record.reason, AllOf(HasSubstr("on cuda:1: "), HasSubstr("SIGKILL")));
  EXPECT_EQ(record.point.placement.processes, 2);
  ScriptedHost fresh;
  record = serve({ranks_of(2)}, {})[0];
  EXPECT_EQ(record.outcome, Outcome::interrupted);
}

// Comes to a meeting that exchanges texts, and then to the one where all begin.
Script loads_together(const std::string& says, Nanoseconds after, const Script& then, std::vector<std::string>* heard = nullptr) {
  auto order = std::make_shared<Frame>();
  return [=](ScriptedLink& worker, const Frame& frame) {
    if (kind_of(frame) == "run") {
      *order = frame;
      worker.say(after, "meet", {{"said", says}});
    } else if (frame.header.at("payload").contains("said")) {
      if (heard != nullptr) *heard = frame.header.at("payload").at("said").get<std::vector<std::string>>();
      worker.say(1 * s, "meet");
    } else {
      then(worker, *order);
    }
  };
}

TEST_F(SupervisorTest, RanksExchangeTextsWhileTheyLoad) {
  const Script measures = [](ScriptedLink& worker, const Frame& order) { worker.say(1 * s, record_of(order)); };
  std::vector<std::string> first, second;
  const auto records =
      serve({ranks_of(2)}, {loads_together("an invitation", 1 * s, measures, &first), loads_together("", 4 * s, measures, &second)});
  EXPECT_EQ(records[0].outcome, Outcome::ok) << records[0].reason;
  EXPECT_THAT(first, ElementsAre("an invitation", ""));
  EXPECT_EQ(second, first);
}

// A rank fails at load, where the ranks find each other, or in mid-run: that ends all, and is the Point's Record.
TEST_F(SupervisorTest, ARankThatDiesOrHangsWhereverItIsEndsTheOthers) {
  const Script measures = [](ScriptedLink& worker, const Frame& order) { worker.say(1 * s, record_of(order)); };
  const Script waits = [](ScriptedLink& worker, const Frame&) {  // for the gradients of the other one
    for (int i = 0; i < 30; ++i) worker.beat(i * s, "steady");
  };
  struct Case {
    Script first, second;
    Outcome outcome;
    const char* words;
  };
  const Case cases[] = {
      {loads_together("a", 1 * s, measures), dies(2 * s, {0, SIGKILL}), Outcome::crashed,
       "process 2 of 2 on cuda:1: the worker ended in phase load"},
      {loads_together("a", 1 * s, measures), hangs, Outcome::timed_out, "process 2 of 2 on cuda:1: no progress for 10 s in phase warm_up"},
      {loads_together("a", 1 * s, measures), answers(2 * s, Outcome::refused, "other devices"), Outcome::refused,
       "process 2 of 2 on cuda:1: other devices"},
      {dies(1 * s, {0, SIGKILL}), loads_together("b", 1 * s, measures), Outcome::crashed, "process 1 of 2 on cuda:0: "},
      {loads_together("a", 1 * s, waits), loads_together("b", 1 * s, dies(3 * s, {0, SIGKILL})), Outcome::crashed, "process 2 of 2"},
      {loads_together("a", 1 * s, waits), loads_together("b", 1 * s, [](ScriptedLink&, const Frame&) {}), Outcome::timed_out,
       "process 2 of 2"},
      {meets(1 * s, measures), loads_together("b", 1 * s, measures), Outcome::crashed, "are ready to begin"},
  };
  for (const Case& one : cases) {
    const Record record = serve({ranks_of(2)}, {one.first, one.second})[0];
    EXPECT_EQ(record.outcome, one.outcome) << record.reason;
    EXPECT_THAT(record.reason, HasSubstr(one.words));
    EXPECT_EQ(record.point.placement.processes, 2);
  }
}

// Memory that ends in one rank's backward pass, with a batch too large.
TEST_F(SupervisorTest, AfterARankWithoutMemoryTheNextBatchGoesOn) {
  const Script measures = [](ScriptedLink& worker, const Frame& order) { worker.say(1 * s, record_of(order)); };
  const Script ends = [](ScriptedLink& worker, const Frame& order) {
    worker.say(1 * s, record_of(order, Outcome::out_of_memory, "backward"));
  };
  Job large = ranks_of(2);
  large.point.batch = 512;
  const auto records = serve({large, ranks_of(2)}, {loads_together("", 1 * s, measures), loads_together("", 1 * s, ends),
                                                    loads_together("", 1 * s, measures), loads_together("", 1 * s, measures)});
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].outcome, Outcome::out_of_memory);
  EXPECT_EQ(records[0].point.batch, 512);
  EXPECT_EQ(records[1].outcome, Outcome::ok) << records[1].reason;
}

std::vector<Job> tenants(int count) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back(job_of(i + 1).point);
  join_tenants(points);
  std::vector<Job> jobs;
  for (const Point& point : points) {
    jobs.push_back(job_of(point.batch));
    jobs.back().point = point;
  }
  return jobs;
}

TEST_F(SupervisorTest, TenantsEachHaveARecord) {
  const auto records = serve(tenants(2), {meets(1 * s, answers(5 * s)), meets(3 * s, answers(1 * s))});
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].outcome, Outcome::ok);
  EXPECT_EQ(records[0].tenant, "1/2");
  EXPECT_EQ(records[1].point.batch, 2);
}

TEST_F(SupervisorTest, ATenantThatFailsTakesTheOthersWithIt) {
  const auto records = serve(tenants(2), {meets(1 * s, answers()), answers(1 * s, Outcome::out_of_memory, "too large")});
  EXPECT_EQ(records[1].outcome, Outcome::out_of_memory);
  EXPECT_EQ(records[0].outcome, Outcome::refused);
  EXPECT_EQ(std::get<std::string>(records[0].facts.at("refused.by")), "tenant");
  EXPECT_THAT(records[0].reason, AllOf(HasSubstr("tenant 2/2"), HasSubstr("beside it: out_of_memory: too large")));
}

}  // namespace
}  // namespace deepgap
