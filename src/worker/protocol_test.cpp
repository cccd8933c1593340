#include "worker/protocol.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <thread>

namespace deepgap {
namespace {

Frame example() { return {{{"kind", "record"}, {"n", 3}}, {std::string("a\0b", 3), "", std::string(100'000, 'x')}}; }

TEST(Protocol, a_frame_comes_back_as_it_was) {
  FrameParser parser;
  parser.feed(encode_frame(example()));
  const auto frame = parser.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header, example().header);
  EXPECT_EQ(frame->blocks, example().blocks);
  EXPECT_FALSE(parser.next());
  EXPECT_FALSE(parser.torn());
}

TEST(Protocol, names_that_are_no_utf8_come_back) {
  for (const std::string name : {"caf\xE9.onnx", "\xEF\xBF\xBD", "\xEF\x9E\x80", "\xFF"}) {
    FrameParser parser;
    parser.feed(encode_frame({{{"path", name}, {"list", {{{"deep", name}}}}}, {}}));
    const auto frame = parser.next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->header.at("path"), name);
    EXPECT_EQ(frame->header.at("list").at(0).at("deep"), name);
  }
}

TEST(Protocol, layout_is_as_documented) {
  const std::string bytes = encode_frame({{{"k", 1}}, {"ab"}});
  EXPECT_EQ(bytes, std::string("DGF1\x07\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0", 20) + "{\"k\":1}" + "ab");
}

TEST(Protocol, frames_come_out_of_any_cuts) {
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += encode_frame({{{"i", i}}, {std::string(static_cast<size_t>(i * 37), 'z')}});
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    FrameParser parser;
    int seen = 0;
    for (size_t at = 0; at < bytes.size();) {
      const size_t count = std::min<size_t>(1 + random() % 700, bytes.size() - at);
      parser.feed(std::string_view(bytes).substr(at, count));
      at += count;
      while (const auto frame = parser.next()) EXPECT_EQ(frame->header["i"], seen++);
    }
    EXPECT_EQ(seen, 20);
    EXPECT_FALSE(parser.torn());
  }
}

TEST(Protocol, a_torn_frame_is_never_delivered) {
  const std::string bytes = encode_frame({{{"kind", "record"}}, {"block"}});
  for (size_t length = 0; length < bytes.size(); ++length) {
    FrameParser parser;
    parser.feed(bytes.substr(0, length));
    EXPECT_FALSE(parser.next()) << length;
    EXPECT_EQ(parser.torn(), length > 0);
  }
}

std::string frame_prefix(uint32_t header, uint32_t blocks) {
  std::string bytes = "DGF1";
  bytes.append(reinterpret_cast<const char*>(&header), 4);
  bytes.append(reinterpret_cast<const char*>(&blocks), 4);
  return bytes;
}

TEST(Protocol, lengths_over_the_limits_are_errors_before_memory_is_taken) {
  const uint64_t huge = max_block_bytes + 1;
  const std::string cases[] = {frame_prefix(UINT32_MAX, 0), frame_prefix(2, UINT32_MAX), frame_prefix(2, max_blocks + 1),
                               frame_prefix(2, 1) + std::string(reinterpret_cast<const char*>(&huge), 8)};
  for (const std::string& bytes : cases) {
    FrameParser parser;
    parser.feed(bytes);
    EXPECT_THROW(parser.next(), Error);
  }
}

TEST(Protocol, what_is_no_frame_is_an_error) {
  for (const std::string& bytes : {std::string("XXXX"), std::string("D_"), frame_prefix(2, 0) + "[]", frame_prefix(3, 0) + "{{{"}) {
    FrameParser parser;
    parser.feed(bytes);
    EXPECT_THROW(parser.next(), Error) << bytes;
  }
}

// Damaged bytes give an error, a frame or a wait for more: never a crash, never more frames than there were.
TEST(Protocol, survives_random_damage) {
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += encode_frame({{{"kind", "heartbeat"}, {"i", i}}, {"block", "other"}});
  std::mt19937 random(11);
  int errors = 0, frames = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = bytes;
    for (unsigned i = 0; i <= random() % 4; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (random() % 2 == 0) damaged.resize(random() % damaged.size());
    FrameParser parser;
    parser.feed(damaged);
    int seen = 0;
    try {
      while (parser.next()) ++seen;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::internal);
      ++errors;
    }
    EXPECT_LE(seen, 5);
    frames += seen;
  }
  EXPECT_GT(errors, 100);
  EXPECT_GT(frames, 100);
}

class Channel : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
  void TearDown() override {
    for (int end : ends) ::close(end);
  }
  int ends[2];
};

TEST_F(Channel, frames_of_several_threads_do_not_mix) {
  FrameWriter writer(ends[0]);
  const auto work = [&](int who) {
    for (int i = 0; i < 200; ++i) writer.write({{{"who", who}}, {std::string(5000, static_cast<char>('a' + who))}});
  };
  std::thread one(work, 1), two(work, 2);
  FrameReader reader(ends[1]);
  for (int i = 0; i < 400; ++i) {
    const auto frame = reader.read();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->blocks[0], std::string(5000, static_cast<char>('a' + frame->header["who"].get<int>())));
  }
  one.join();
  two.join();
}

TEST_F(Channel, the_end_and_a_torn_last_frame_are_the_end) {
  FrameWriter(ends[0]).write({{{"kind", "a"}}, {}});
  const std::string torn = encode_frame({{{"kind", "b"}}, {"lost"}});
  ASSERT_GT(::write(ends[0], torn.data(), torn.size() - 1), 0);
  ::shutdown(ends[0], SHUT_WR);
  FrameReader reader(ends[1]);
  EXPECT_EQ(reader.read()->header["kind"], "a");
  EXPECT_FALSE(reader.read());
}

TEST_F(Channel, writing_to_a_dead_parent_is_an_error_not_a_signal) {
  ::shutdown(ends[1], SHUT_RDWR);
  EXPECT_THROW(FrameWriter(ends[0]).write({{{"kind", "heartbeat"}}, {}}), Error);
}

}  // namespace
}  // namespace deepgap
