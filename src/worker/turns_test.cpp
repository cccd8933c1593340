#include "worker/turns.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace deepgap {
namespace {

// A worker's channel, and its parent's end.
class TurnsTest : public ::testing::Test {
 protected:
  TurnsTest() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0); }
  ~TurnsTest() override {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  void hang_up() {
    ::close(ends_[1]);
    ends_[1] = -1;
  }
  std::string next_kind(FrameReader& reader) { return reader.read()->header.at("kind"); }

  int ends_[2] = {-1, -1};
};

TEST_F(TurnsTest, AWorkerMeetsAndTakesTurns) {
  FrameReader parent_reader(ends_[1]), reader(ends_[0]);
  FrameWriter parent_writer(ends_[1]), writer(ends_[0]);
  ChannelTurns turns(reader, writer);
  // The channel holds what the parent says ahead of time.
  parent_writer.write({{{"kind", "met"}, {"payload", {{"begin", 5}}}}, {}});
  parent_writer.write({{{"kind", "turn"}, {"payload", 1}}, {}});
  parent_writer.write({{{"kind", "turn"}, {"payload", 2}}, {}});
  parent_writer.write({{{"kind", "over"}}, {}});
  EXPECT_EQ(turns.meet("here").at("begin"), 5);
  turns.take_turns("warm", [](const nlohmann::json& turn) { return Frame{{{"payload", turn.get<int>() * 10}}, {"a block"}}; });

  Frame frame = *parent_reader.read();
  EXPECT_EQ(frame.header, (nlohmann::json{{"kind", "meet"}, {"payload", "here"}}));
  frame = *parent_reader.read();
  EXPECT_EQ(frame.header, (nlohmann::json{{"kind", "ready"}, {"payload", "warm"}}));
  for (const int gave : {10, 20}) {
    frame = *parent_reader.read();
    EXPECT_EQ(frame.header, (nlohmann::json{{"kind", "done"}, {"payload", gave}}));
    EXPECT_EQ(frame.blocks, std::vector<std::string>{"a block"});
  }
}

TEST_F(TurnsTest, AParentThatIsGoneOrSaysSomethingElseIsAnError) {
  FrameReader reader(ends_[0]);
  FrameWriter parent_writer(ends_[1]), writer(ends_[0]);
  ChannelTurns turns(reader, writer);
  parent_writer.write({{{"kind", "turn"}}, {}});
  EXPECT_THROW(turns.meet(nullptr), Error);
  hang_up();
  EXPECT_THROW(turns.take_turns(nullptr, [](const nlohmann::json&) { return Frame(); }), Error);
}

TEST_F(TurnsTest, WorkersExchangeTextsBeforeTheyBegin) {
  FrameReader parent_reader(ends_[1]), reader(ends_[0]);
  FrameWriter parent_writer(ends_[1]), writer(ends_[0]);
  ChannelTurns turns(reader, writer);
  const auto never_begins = []() -> Nanoseconds { throw Error(ErrorKind::internal, "nobody begins"); };
  parent_writer.write({{{"kind", "met"}, {"payload", answer_meeting({{{"said", "one"}}, {{"said", "two"}}}, never_begins)}}, {}});
  EXPECT_EQ(exchange_with_ranks(turns, "two"), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(parent_reader.read()->header.at("payload"), (nlohmann::json{{"said", "two"}}));
  EXPECT_EQ(answer_meeting({nullptr, nullptr}, [] { return Nanoseconds{7}; }), (nlohmann::json{{"begin", 7}}));
  EXPECT_THROW(answer_meeting({nullptr, {{"said", "one"}}}, never_begins), Error) << "not at the same meeting";
  parent_writer.write({{{"kind", "met"}, {"payload", {{"begin", 7}}}}, {}});
  EXPECT_THROW(exchange_with_ranks(turns, "two"), Error);
}

}  // namespace
}  // namespace deepgap
