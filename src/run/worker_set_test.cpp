#include "run/worker_set.h"

#include "run/scripted_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr Nanoseconds s = 1'000'000'000;

using Script = ScriptedLink::Script;

// Comes to the meeting after so long, and answers its order so long after that.
Script meets(Nanoseconds after, Nanoseconds answers = 1 * s) {
  return [=](ScriptedLink& worker, const Frame& frame) {
    if (kind_of(frame) == "run") worker.say(after, "meet", after / s);
    if (kind_of(frame) == "met") worker.say(answers, "record", frame.header.at("payload"));
  };
}

// Is ready after so long; does a turn in so long; answers when no turn is left.
Script takes_turns(Nanoseconds loads, Nanoseconds turn) {
  return [=](ScriptedLink& worker, const Frame& frame) {
    if (kind_of(frame) == "run") worker.say(loads, "ready", loads / s);
    if (kind_of(frame) == "turn") worker.say(turn, "done", frame.header.at("payload"));
    if (kind_of(frame) == "over") worker.say(0, "record");
  };
}

class WorkerSetTest : public testing::Test {
 protected:
  void start(std::vector<Script> scripts) {
    host_.scripts = std::move(scripts);
    for (size_t i = 0; i < host_.scripts.size(); ++i) {
      Worker worker;
      worker.job = &job_;
      worker.link = host_.start(job_.point);
      worker.link->send({{{"kind", "run"}}, {}});
      set_.add(std::move(worker));
    }
  }
  // Returns who kept the set from meeting, and why; nullopt: they met.
  std::optional<Heard> meet(const WorkerSet::Otherwise& otherwise = {}) {
    return set_.meet(
        [&](const WorkerSet::Payloads& said) {
          said_ = said;
          return nlohmann::json(host_.now() / s);
        },
        otherwise);
  }
  // One after the other; who was not, and why.
  std::optional<Heard> ready() {
    said_.assign(set_.size(), nullptr);
    for (size_t i = 0; i < set_.size(); ++i) {
      if (auto failed = set_.ready(i, said_[i], {})) return failed;
    }
    return std::nullopt;
  }
  std::optional<Heard> collect() {
    return set_.collect([&](size_t place, const Frame& frame) {
      answered_.push_back(place);
      return kind_of(frame) == "record";
    });
  }

  ScriptedHost host_;
  Job job_;
  std::vector<std::string> phases_;
  WorkerSet set_{{host_, 10s, [this](const Job&, const std::string& phase, uint64_t) { phases_.push_back(phase); }}};
  WorkerSet::Payloads said_;
  std::vector<size_t> answered_;
};

TEST_F(WorkerSetTest, AllMeetAndAreToldTheSame) {
  start({meets(2 * s, 3 * s), meets(5 * s, 1 * s)});
  EXPECT_FALSE(meet());
  EXPECT_EQ(host_.now(), 5 * s) << "not before the last has come";
  EXPECT_THAT(said_, ElementsAre(2, 5));
  EXPECT_FALSE(collect());
  EXPECT_THAT(answered_, ElementsAre(1, 0)) << "as they came";
}

TEST_F(WorkerSetTest, OneThatDiesIsToldAtOnceWhoeverElseIsWaitedFor) {
  start({meets(9 * s), [](ScriptedLink& worker, const Frame&) { worker.die(2 * s, {9, 0}); }, meets(1 * s)});
  const auto failed = meet();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->worker, 1U);
  EXPECT_EQ(failed->answer.kind, Answer::Kind::died);
  EXPECT_EQ(host_.now(), 2 * s);
}

TEST_F(WorkerSetTest, OneThatHasMetMayDieNoMore) {
  start({meets(9 * s), [](ScriptedLink& worker, const Frame&) {
           worker.say(1 * s, "meet");
           worker.die(3 * s, {0, 11});
         }});
  const auto failed = meet();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->worker, 1U);
  EXPECT_EQ(host_.now(), 3 * s);
}

TEST_F(WorkerSetTest, OneThatHangsIsToldWhenPatienceEnds) {
  start({meets(1 * s), [](ScriptedLink& worker, const Frame&) { worker.beat(4 * s, "load"); }});
  const auto failed = meet();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->worker, 1U);
  EXPECT_EQ(failed->answer.kind, Answer::Kind::silent);
  EXPECT_EQ(host_.now(), 14 * s) << "10 s after its last heartbeat; the one that waits may be silent";
  EXPECT_EQ(set_.at(1).phase, "load");
}

TEST_F(WorkerSetTest, HeartbeatsKeepAlive) {
  start({[](ScriptedLink& worker, const Frame&) {
    for (int i = 1; i <= 5; ++i) worker.beat(i * 9 * s, "load");
    worker.say(50 * s, "meet");
  }});
  EXPECT_FALSE(meet());
  EXPECT_THAT(phases_, testing::SizeIs(5));
}

TEST_F(WorkerSetTest, AnotherFrameIsTheCallersAffair) {
  int asked = 0;
  const Script needs = [&](ScriptedLink& worker, const Frame& frame) {
    if (kind_of(frame) == "run") worker.say(1 * s, ++asked == 1 ? "needs_reference" : "meet");
  };
  start({needs, meets(3 * s)});
  EXPECT_FALSE(meet([&](size_t place, const Frame& frame) {
    if (kind_of(frame) != "needs_reference") return false;
    set_.at(place).link->send({{{"kind", "run"}}, {}});
    return true;
  }));
  EXPECT_EQ(asked, 2);
}

TEST_F(WorkerSetTest, AnAnswerInPlaceOfTheMeetingEndsIt) {
  start({meets(1 * s), [](ScriptedLink& worker, const Frame&) { worker.say(2 * s, "record", "refused"); }});
  const auto failed = meet();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->worker, 1U);
  EXPECT_TRUE(failed->answer.is("record"));
}

TEST_F(WorkerSetTest, TurnsAreHandedOutInAnyOrder) {
  start({takes_turns(1 * s, 2 * s), takes_turns(4 * s, 3 * s)});
  ASSERT_FALSE(ready());
  EXPECT_THAT(said_, ElementsAre(1, 4));
  EXPECT_EQ(host_.now(), 4 * s);
  for (const size_t place : {0, 1, 1, 0}) {
    const Nanoseconds before = host_.now();
    const Heard heard = set_.turn(place, {{"duration", 7}});
    EXPECT_EQ(heard.worker, place);
    EXPECT_TRUE(heard.answer.is(turn_frame::done));
    EXPECT_EQ(heard.answer.frame.header.at("payload").at("duration"), 7);
    EXPECT_EQ(host_.now() - before, place == 0 ? 2 * s : 3 * s);
  }
  set_.end_turns();
  EXPECT_FALSE(collect());
  EXPECT_THAT(answered_, ElementsAre(0, 1));
}

TEST_F(WorkerSetTest, AWorkerThatHangsInItsTurnCanBeDroppedAndTheOthersGoOn) {
  start({takes_turns(1 * s, 30 * s), takes_turns(1 * s, 2 * s)});
  ASSERT_FALSE(ready());
  const Heard heard = set_.turn(0, nullptr);
  EXPECT_EQ(heard.worker, 0U);
  EXPECT_EQ(heard.answer.kind, Answer::Kind::silent);
  set_.drop(0);
  EXPECT_EQ(host_.alive, 1);
  EXPECT_TRUE(set_.turn(1, nullptr).answer.is(turn_frame::done));
  set_.end_turns();
  EXPECT_FALSE(collect());
  EXPECT_THAT(answered_, ElementsAre(1));
}

TEST_F(WorkerSetTest, AnAnswerThatComesTooLateIsNoAnswerToTheNextTurn) {
  start({takes_turns(1 * s, 12 * s), takes_turns(1 * s, 5 * s)});
  ASSERT_FALSE(ready());
  EXPECT_EQ(set_.turn(0, 1).answer.kind, Answer::Kind::silent);
  const Heard heard = set_.turn(1, 2);  // the late one's comes into this turn
  EXPECT_EQ(heard.worker, 0U);
  EXPECT_EQ(heard.answer.kind, Answer::Kind::broken);
  EXPECT_THAT(heard.answer.defect, HasSubstr("sent 'done' without a request"));
}

TEST_F(WorkerSetTest, AWorkerThatDiesWhileItWaitsIsFoundInTheOthersTurn) {
  start({takes_turns(1 * s, 5 * s), [](ScriptedLink& worker, const Frame&) {
           worker.say(1 * s, "ready");
           worker.die(4 * s, {0, 9});
         }});
  ASSERT_FALSE(ready());
  const Heard heard = set_.turn(0, nullptr);
  EXPECT_EQ(heard.worker, 1U);
  EXPECT_EQ(heard.answer.kind, Answer::Kind::died);
}

TEST_F(WorkerSetTest, BytesThatAreNoFrameAreTheirSendersFault) {
  start({meets(5 * s), [](ScriptedLink& worker, const Frame&) { worker.speak_nonsense(1 * s); }});
  const auto failed = meet();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->worker, 1U);
  EXPECT_EQ(failed->answer.kind, Answer::Kind::broken);
}

TEST_F(WorkerSetTest, AnInterruptEndsTheWaiting) {
  host_.interrupt_at = 3 * s;
  start({meets(5 * s), meets(6 * s)});
  const auto failed = meet();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->answer.kind, Answer::Kind::interrupted);
  EXPECT_EQ(host_.now(), 3 * s);
}

}  // namespace
}  // namespace deepgap
