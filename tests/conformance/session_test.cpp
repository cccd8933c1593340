// What the Session contract promises (deepgap/session.h), on a small network.
#include "base/option_values.h"
#include "blame.h"
#include "rig.h"
#include "tolerance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>

namespace deepgap::conformance {
namespace {

class SessionContract : public testing::Test {
 protected:
  GraphModel model{small_network(seed())};
  Random random{seed() + 1};
  Samples samples = random_samples(random, model.graph(), 6);

  void SetUp() override {
    static const std::string fault = fault_in_small_network();
    if (!fault.empty()) GTEST_SKIP() << fault;
  }
  std::string wrong(const Rig& rig, int slot, const std::vector<uint32_t>& chosen) const {
    return difference(reference(model.graph(), samples, chosen), rig.session->outputs(slot));
  }
  // What load refuses, or "accepted".
  static std::string refusal(const std::function<void()>& load) {
    try {
      load();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused) << error.what();
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(SessionContract, EveryBatchThatWasAskedFor) {
  Rig rig(model, {1, 2, 6});
  rig.stage(samples);
  for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{3}, {5, 0}, {0, 1, 2, 3, 4, 5}, {4, 4, 4, 1, 1, 0}}) {
    ASSERT_EQ(rig.run(0, chosen), Status::ok) << rig.last_error();
    EXPECT_EQ(wrong(rig, 0, chosen), "") << "batch " << chosen.size();
  }
}

TEST_F(SessionContract, OnACpuSamplesAreReadWhereTheyAre) {
  if (placement().devices.front().kind != "cpu") GTEST_SKIP() << backend().name() << " may copy them: it is for another device";
  Rig rig(model, {1, 2});
  rig.stage(samples);
  ASSERT_EQ(rig.run(0, {0}), Status::ok) << rig.last_error();
  for (size_t i = 0; i < samples[0].size(); ++i) {
    Tensor& rewritten = samples[0][i];
    std::memcpy(writable<std::byte>(rewritten).data(), samples[3][i].data.get(), rewritten.bytes());
  }
  for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{0}, {0, 1}, {2, 0}}) {
    ASSERT_EQ(rig.run(0, chosen), Status::ok) << rig.last_error();
    EXPECT_EQ(wrong(rig, 0, chosen), "") << "batch " << chosen.size();
  }
}

TEST_F(SessionContract, PartialBatchIsRightOrFailsWithItsReason) {
  Rig rig(model, {4});
  rig.stage(samples);
  const std::vector<uint32_t> chosen{1, 5, 2};
  if (rig.run(0, chosen) == Status::ok) {
    EXPECT_EQ(wrong(rig, 0, chosen), "");
  } else {
    EXPECT_NE(rig.last_error(), "");
    fmt::print("{} takes no partial batches: {}\n", backend().name(), rig.last_error());
  }
}

TEST_F(SessionContract, TwoSessionsAtOnce) {
  const GraphModel other(small_network(seed() + 17));
  Rig first(model, {2}), second(other, {3});
  first.stage(samples);
  second.stage(samples);
  const auto run_often = [](Rig& rig, const std::vector<uint32_t>& chosen, int& good) {
    for (int round = 0; round < 10; ++round) good += rig.run(0, chosen) == Status::ok ? 1 : 0;
  };
  int good_first = 0, good_second = 0;
  std::thread beside([&] { run_often(first, {0, 1}, good_first); });
  run_often(second, {2, 3, 4}, good_second);
  beside.join();
  EXPECT_EQ(good_first, 10) << first.last_error();
  EXPECT_EQ(good_second, 10) << second.last_error();
  EXPECT_EQ(wrong(first, 0, {0, 1}), "");
  EXPECT_EQ(difference(reference(other.graph(), samples, {2, 3, 4}), second.session->outputs(0)), "");
}

TEST_F(SessionContract, SessionsMayGoInAnyOrder) {
  auto first = std::make_unique<Rig>(model, std::vector<int64_t>{1});
  Rig second(model, {1});
  first.reset();
  second.stage(samples);
  ASSERT_EQ(second.run(0, {0}), Status::ok);
  EXPECT_EQ(wrong(second, 0, {0}), "");
}

TEST_F(SessionContract, SameSamplesSameBits) {
  Rig rig(model, {2}, 2);
  rig.stage(samples);
  ASSERT_EQ(rig.run(0, {3, 1}), Status::ok);
  const std::vector<Tensor> first = rig.copy_outputs(0);
  for (int slot : {1, 0, 1, 0}) {
    ASSERT_EQ(rig.run(slot, {3, 1}), Status::ok);
    const std::vector<Tensor> again = rig.copy_outputs(slot);
    ASSERT_EQ(again.size(), first.size());
    for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(std::memcmp(again[i].data.get(), first[i].data.get(), first[i].bytes()), 0);
  }
}

TEST_F(SessionContract, OutputsOfASlotStayUntilItIsUsedAgain) {
  Rig rig(model, {2}, 3);
  rig.stage(samples);
  rig.enqueue(0, {0, 1}, 1);
  rig.enqueue(1, {2, 3}, 2);
  rig.enqueue(2, {4, 5}, 3);
  rig.session->drain();
  EXPECT_EQ(wrong(rig, 0, {0, 1}), "");
  EXPECT_EQ(wrong(rig, 1, {2, 3}), "");
  EXPECT_EQ(wrong(rig, 2, {4, 5}), "");
  ASSERT_EQ(rig.run(1, {5, 4}), Status::ok);
  EXPECT_EQ(wrong(rig, 0, {0, 1}), "");
  EXPECT_EQ(wrong(rig, 1, {5, 4}), "");
  EXPECT_EQ(wrong(rig, 2, {4, 5}), "");
}

TEST_F(SessionContract, StagingReplacesTheSamples) {
  Rig rig(model, {2});
  rig.stage(samples);
  ASSERT_EQ(rig.run(0, {0, 1}), Status::ok);
  samples = random_samples(random, model.graph(), 2);
  rig.stage(samples);
  ASSERT_EQ(rig.run(0, {0, 1}), Status::ok);
  EXPECT_EQ(wrong(rig, 0, {0, 1}), "");
}

TEST_F(SessionContract, SamplesMayChangeBetweenQueries) {
  std::unique_ptr<Rig> rig;
  try {
    rig = std::make_unique<Rig>(model, std::vector<int64_t>{2}, 1, 1, "fp32", std::map<std::string, std::string>{}, true);
  } catch (const Error& error) {
    ASSERT_EQ(error.kind(), ErrorKind::refused);
    GTEST_SKIP() << error.what();
  }
  rig->stage(samples);
  ASSERT_EQ(rig->run(0, {0, 1}), Status::ok);
  std::memcpy(writable<std::byte>(samples[1][0]).data(), samples[2][0].data.get(), samples[2][0].bytes());
  ASSERT_EQ(rig->run(0, {0, 1}), Status::ok);
  EXPECT_EQ(wrong(*rig, 0, {0, 1}), "");
}

TEST_F(SessionContract, EveryQueryIsDeliveredOnce) {
  constexpr int slots = 3;
  Rig rig(model, {1}, slots);
  ASSERT_GE(rig.session->slots(), slots);
  rig.stage(samples);
  for (uint64_t tag = 0; tag < 30; ++tag) {
    if (tag % slots == 0) rig.session->drain();
    rig.enqueue(static_cast<int>(tag % slots), {static_cast<uint32_t>(tag % 6)}, tag);
  }
  rig.session->drain();
  for (uint64_t tag = 0; tag < 30; ++tag) EXPECT_EQ(rig.delivered[tag], std::vector<Status>{Status::ok}) << tag;
}

TEST_F(SessionContract, StreamsAnswerAsOneDoesWhereTheyAreAnOption) {
  const std::vector<OptionInfo> options = backend().options();
  if (std::none_of(options.begin(), options.end(), [](const OptionInfo& option) { return option.name == "streams"; })) return;
  constexpr uint32_t slots = 4;
  Rig rig(model, {1}, slots, 2, "fp32", {{"streams", "3"}});
  rig.stage(samples);
  for (uint32_t round = 0; round < 5; ++round) {
    for (uint32_t slot = 0; slot < slots; ++slot) rig.enqueue(static_cast<int>(slot), {(slot + round) % 6}, round * slots + slot);
    if (round == 2) rig.session->cancel();
    rig.session->drain();
    for (uint32_t slot = 0; slot < slots; ++slot) {
      const std::vector<Status>& statuses = rig.delivered[round * slots + slot];
      ASSERT_EQ(statuses.size(), 1u);
      ASSERT_NE(statuses[0], Status::failed) << rig.last_error();
      if (statuses[0] == Status::ok) {
        EXPECT_EQ(wrong(rig, static_cast<int>(slot), {(slot + round) % 6}), "") << round << ' ' << slot;
      }
    }
  }
}

TEST_F(SessionContract, CancelLeavesNothingPendingAndTheSessionUsable) {
  Rig rig(model, {1}, 3);
  rig.stage(samples);
  for (uint64_t tag = 0; tag < 3; ++tag) rig.enqueue(static_cast<int>(tag), {0}, tag);
  rig.session->cancel();
  for (uint64_t tag = 0; tag < 3; ++tag) {
    ASSERT_EQ(rig.delivered[tag].size(), 1u) << tag;
    EXPECT_NE(rig.delivered[tag].front(), Status::failed) << tag;
  }
  ASSERT_EQ(rig.run(0, {2}), Status::ok);
  EXPECT_EQ(wrong(rig, 0, {2}), "");
}

TEST_F(SessionContract, ThreadsDoNotChangeTheAnswer) {
  Rig rig(model, {6}, 1, 2);
  rig.stage(samples);
  ASSERT_EQ(rig.run(0, {0, 1, 2, 3, 4, 5}), Status::ok);
  EXPECT_EQ(wrong(rig, 0, {0, 1, 2, 3, 4, 5}), "");
}

TEST_F(SessionContract, MarksOfTheRunsClockAreInOrder) {
  Rig rig(model, {1});
  rig.stage(samples);
  const Nanoseconds before = rig.clock->now();
  ASSERT_EQ(rig.run(0, {0}), Status::ok);
  Nanoseconds last = before;
  for (const Mark& mark : rig.marks) {
    if (mark.clock != 0) continue;
    EXPECT_GE(mark.ns, last);
    last = mark.ns;
  }
  EXPECT_LE(last, rig.clock->now());
}

// Durations since the first of them, in the order in which a query passes the device.
TEST_F(SessionContract, MarksOfTheDevicesClockBeginAtZeroAndAreInOrder) {
  Rig rig(model, {1});
  rig.stage(samples);
  ASSERT_EQ(rig.run(0, {0}), Status::ok);
  Nanoseconds last = 0;
  bool first = true;
  for (const Mark& mark : rig.marks) {
    if (mark.clock == 0) continue;
    if (first) {
      EXPECT_EQ(mark.ns, 0);
    }
    first = false;
    EXPECT_GE(mark.ns, last);
    last = mark.ns;
  }
  EXPECT_LT(last, 10'000'000'000);
}

// Layouts, captured graphs, profiling and the like.
TEST_F(SessionContract, SwitchesDoNotChangeTheAnswer) {
  for (const OptionInfo& option : backend().options()) {
    if (option.default_value != "off") continue;
    SCOPED_TRACE(option.name);
    Rig rig(model, {1, 4}, 2, 2, "fp32", {{option.name, "on"}});
    rig.stage(samples);
    for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{3}, {5, 0, 1, 2}, {4}}) {
      for (const int slot : {0, 1}) {
        ASSERT_EQ(rig.run(slot, chosen), Status::ok) << rig.last_error();
        EXPECT_EQ(wrong(rig, slot, chosen), "");
      }
    }
  }
}

TEST_F(SessionContract, MemoryAddsUp) {
  Rig rig(model, {1});
  rig.stage(samples);
  ASSERT_EQ(rig.run(0, {0}), Status::ok);
  const MemoryUse use = rig.session->memory();
  if (use.in_use_bytes < 0) return;  // not known
  EXPECT_LE(use.in_use_bytes, use.peak_bytes);
  EXPECT_LE(use.in_use_bytes, use.reserved_bytes);
}

// As near as eight bits of mantissa are, and not nearer: then it was another precision that ran.
TEST_F(SessionContract, Bf16IsBf16WhereItIsSupported) {
  if (!computes()) return;  // the null backend takes everything
  if (const Support support = supports("bf16", model.summary()); !support.ok) {
    fmt::print("{} does not run bf16: {}\n", backend().name(), support.reason);
    return;
  }
  Rig rig(model, {1, 4}, 1, 2, "bf16");
  rig.stage(samples);
  for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{3}, {5, 0, 1, 2}}) {
    ASSERT_EQ(rig.run(0, chosen), Status::ok) << rig.last_error();
    const double sqnr = sqnr_db(reference(model.graph(), samples, chosen), rig.session->outputs(0));
    EXPECT_GT(sqnr, 30);
    EXPECT_LT(sqnr, 80);
  }
}

// The shares cover all work, in the requested precision if it is a float; an engine may leave single layers in another, and say so.
TEST_F(SessionContract, SharesOfPrecisionsAddUp) {
  for (const std::string& precision : float_precisions(model.summary())) {
    const Rig rig(model, {1}, 1, 1, precision);
    double sum = 0;
    const PrecisionShares shares = rig.session->precision_shares();
    for (const auto& [name, share] : shares) {
      EXPECT_GT(share, 0) << name;
      sum += share;
    }
    if (shares.empty()) continue;  // the engine does not report them
    EXPECT_NEAR(sum, 1, 1e-9) << precision;
    EXPECT_EQ(shares.count("unknown"), 0u) << precision;
    if (precision == "fp32") {
      EXPECT_EQ(shares, (PrecisionShares{{"fp32", 1.0}}));
    }
  }
}

TEST_F(SessionContract, UnknownOperatorIsRefusedByName) {
  Random made(seed());
  GraphBuilder net(made, 17);
  const ValueId x = net.input({4});
  Graph graph = net.finish({net.node("Frobnicate", {net.node("Relu", {x})})});
  // Nobody can infer the shape of it; a reader gets it from the file.
  Value& output = graph.values[static_cast<size_t>(graph.outputs[0])];
  output.dims = Dims{{1, batch_symbol}, {4, ""}};
  const GraphModel strange(graph);
  if (!computes()) return;  // the null backend takes everything
  const std::string reason = refusal([&] { const Rig rig(strange, {1}); });
  EXPECT_NE(reason.find("Frobnicate"), std::string::npos) << reason;
  EXPECT_NE(reason.find("node1_Frobnicate"), std::string::npos) << reason;
  EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
}

TEST_F(SessionContract, WhatItDoesNotSupportItDoesNotLoad) {
  if (!computes()) return;  // the null backend takes everything
  for (const Precision precision : all_precisions) {
    const std::string name(name_of(precision));
    if (supports(name, model.summary()).ok) continue;
    EXPECT_NE(supports(name, model.summary()).reason.find(name), std::string::npos) << supports(name, model.summary()).reason;
    EXPECT_NE(refusal([&] { const Rig rig(model, {1}, 1, 1, name); }), "accepted") << name;
  }
}

TEST(BackendContract, TellsItsNameVersionAndDevices) {
  EXPECT_FALSE(backend().name().empty());
  EXPECT_FALSE(backend().version().empty());
  EXPECT_FALSE(backend().devices().empty());
  for (const OptionInfo& option : backend().options()) {
    EXPECT_FALSE(option.name.empty());
    EXPECT_FALSE(option.describe.empty()) << option.name;
    EXPECT_EQ(option.describe.find('\n'), std::string::npos) << option.name;
    if (option.default_value.empty()) continue;
    EXPECT_NO_THROW(check_option(backend().name(), option, option.default_value)) << option.name;
  }
}

}  // namespace
}  // namespace deepgap::conformance
