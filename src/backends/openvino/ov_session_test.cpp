// On the real library, with the networks of tiny_network.h.
#include "backends/openvino/ov_backend.h"
#include "backends/openvino/ov_library.h"
#include "backends/openvino/tiny_network.h"
#include "base/clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

namespace deepgap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using tiny_network::doubling;

class Rig {
 public:
  explicit Rig(const Model& model, std::vector<int64_t> batches = {2}, int slots = 2, std::map<std::string, std::string> given = {},
               int engine_threads = 1) {
    LoadOptions options{.batch_sizes = std::move(batches), .slots = slots, .threads = engine_threads, .options = std::move(given)};
    options.clock = clock.get();
    options.completion = [this](std::span<const Done> done) {
      note(done);
      std::this_thread::sleep_for(linger);
    };
    session = backend.load(model, options);
  }
  // Rows of three values, each a sample.
  void stage(const std::vector<std::vector<float>>& rows) {
    rows_ = rows;
    std::vector<std::vector<TensorView>> samples;
    for (const auto& row : rows_) samples.push_back({{DataType::f32, shape_, reinterpret_cast<const std::byte*>(row.data())}});
    session->stage(samples);
  }
  void run(int slot, const std::vector<uint32_t>& samples) {
    session->enqueue(slot, samples, 100);
    session->drain();
  }
  std::vector<float> floats(int slot) const {
    const auto values = session->outputs(slot)[0].as<float>();
    return {values.begin(), values.end()};
  }

  std::chrono::microseconds linger{0};  // of the completion, after it told that the slot is free
  OvBackend backend;
  std::unique_ptr<Clock> clock = make_real_clock();
  std::mutex mutex;
  std::vector<Status> statuses;
  std::vector<MarkId> marks;
  std::vector<std::thread::id> threads;
  std::array<std::atomic<bool>, 2> busy{};  // by tag
  std::unique_ptr<Session> session;

 private:
  void note(std::span<const Done> done) {
    const std::lock_guard lock(mutex);
    for (const Done& one : done) {
      statuses.push_back(one.status);
      marks.clear();
      for (const Mark& mark : one.marks) marks.push_back(mark.id);
      threads.push_back(std::this_thread::get_id());
      if (one.tag < busy.size()) busy[one.tag].store(false);
    }
  }

  std::vector<std::vector<float>> rows_;
  Shape shape_{1, 3};
};

Error failure(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::internal, "nothing was thrown"};
}

TEST(OvSession, RunsABatchOfStagedSamples) {
  const auto model = doubling(false);
  Rig rig(model);
  rig.stage({{1, 2, 3}, {4, 0, 6}, {7, 8, 9}});
  rig.run(1, {2, 1});
  EXPECT_THAT(rig.statuses, ElementsAre(Status::ok)) << rig.session->last_error();
  EXPECT_THAT(rig.marks, ElementsAre(MarkId::h2d_begin, MarkId::compute_begin, MarkId::compute_end));
  EXPECT_THAT(rig.session->outputs(1)[0].shape, ElementsAre(2, 3));
  EXPECT_THAT(rig.floats(1), ElementsAre(14, 16, 18, 8, 0, 12));
  EXPECT_NE(rig.threads.front(), std::this_thread::get_id()) << "enqueue() computed it";
}

TEST(OvSession, OutputsHaveTheShapesOfTheirRun) {
  const auto model = doubling(true);
  Rig rig(model, {2, 1});
  rig.stage({{1, 2, 3}, {4, 0, 6}});
  rig.run(0, {0, 1});
  EXPECT_THAT(rig.session->outputs(0)[1].shape, ElementsAre(2, 5));  // five values are not zero
  EXPECT_THAT(rig.session->outputs(0)[1].as<int64_t>(), ElementsAre(0, 0, 0, 1, 1, 0, 1, 2, 0, 2));
  rig.run(0, {1});
  EXPECT_THAT(rig.session->outputs(0)[0].shape, ElementsAre(1, 3));
  EXPECT_THAT(rig.session->outputs(0)[1].as<int64_t>(), ElementsAre(0, 0, 0, 2));
}

TEST(OvSession, PartialBatchesAreCutWhereThatCanBeDone) {
  const auto model = doubling(false), uncut = doubling(true);
  Rig rig(model, {4});
  rig.stage({{1, 2, 3}, {4, 5, 6}});
  rig.run(0, {1, 0, 1});
  EXPECT_THAT(rig.session->outputs(0)[0].shape, ElementsAre(3, 3));
  EXPECT_THAT(rig.floats(0), ElementsAre(8, 10, 12, 2, 4, 6, 8, 10, 12));
  Rig other(uncut, {4});
  other.stage({{1, 2, 3}});
  other.run(0, {0});
  EXPECT_THAT(other.statuses, ElementsAre(Status::failed));
  EXPECT_THAT(other.session->last_error(), HasSubstr("output 'z' cannot be cut"));
}

TEST(OvSession, WrongNumbersOfSamplesFailWithTheReason) {
  const auto model = doubling(false);
  Rig rig(model);
  rig.stage({{1, 2, 3}});
  rig.run(0, {0, 0, 0});
  EXPECT_THAT(rig.session->last_error(), HasSubstr("3 samples, loaded for at most 2"));
  rig.run(0, {});
  EXPECT_THAT(rig.session->last_error(), HasSubstr("0 samples"));
  EXPECT_THAT(rig.statuses, ElementsAre(Status::failed, Status::failed));
  rig.run(0, {0, 0});
  EXPECT_THAT(rig.floats(0), ElementsAre(2, 4, 6, 2, 4, 6));
}

TEST(OvSession, WrongSamplesAreRefused) {
  const auto model = doubling(false);
  Rig rig(model);
  const Shape shape{1, 3};
  const std::vector<std::vector<TensorView>> none{{}};
  const std::vector<std::vector<TensorView>> integers{{{DataType::i32, shape, nullptr}}};
  EXPECT_THAT(failure([&] { rig.session->stage(none); }).what(), HasSubstr("0 tensors"));
  EXPECT_THAT(failure([&] { rig.session->stage(integers); }).what(), HasSubstr("int32"));
}

// The slot is free before the library's callback has returned; what is started in between must not be lost.
TEST(OvSession, SlotsMayBeUsedAgainAtOnce) {
  const auto model = doubling(false);
  Rig rig(model, {1}, 2, {{"streams", "2"}}, 2);
  rig.stage({{1, 2, 3}});
  rig.linger = std::chrono::microseconds(500);
  constexpr size_t queries = 400;
  const std::vector<uint32_t> sample{0};
  for (size_t i = 0; i < queries; ++i) {
    const size_t slot = i % 2;
    while (rig.busy[slot].load()) std::this_thread::yield();
    rig.busy[slot].store(true);
    rig.session->enqueue(static_cast<int>(slot), sample, slot);
  }
  rig.session->drain();
  EXPECT_EQ(rig.statuses.size(), queries);
  EXPECT_THAT(rig.statuses, Each(Status::ok));
}

TEST(OvSession, CancelDeliversWhatIsPending) {
  const auto model = doubling(false);
  Rig rig(model, {1}, 2);
  rig.stage({{1, 2, 3}});
  const std::vector<uint32_t> sample{0};
  for (int round = 0; round < 50; ++round) {
    rig.session->enqueue(0, sample, 0);
    rig.session->enqueue(1, sample, 1);
    rig.session->cancel();
  }
  EXPECT_EQ(rig.statuses.size(), 100u);
  EXPECT_THAT(rig.statuses, Each(testing::Ne(Status::failed))) << rig.session->last_error();
  rig.run(0, {0});
  EXPECT_EQ(rig.statuses.back(), Status::ok);
}

TEST(OvSession, SessionMayEndWithQueriesPending) {
  const auto model = doubling(false);
  for (int round = 0; round < 20; ++round) {
    Rig rig(model, {1}, 2);
    rig.stage({{1, 2, 3}});
    const std::vector<uint32_t> sample{0};
    rig.session->enqueue(0, sample, 0);
    rig.session->enqueue(1, sample, 1);
    rig.session.reset();
    EXPECT_EQ(rig.statuses.size(), 2u);
  }
}

TEST(OvSession, BrokenBytesAreAnInputError) {
  const tiny_network::TinyModel model("this is no model", doubling(false).graph());
  EXPECT_EQ(failure([&] { const Rig rig(model); }).kind(), ErrorKind::input);
}

TEST(OvSession, FixedShapesTakeTheirBatchOnly) {
  const auto model = doubling(false, 2);
  EXPECT_THAT(failure([&] { const Rig rig(model, {3}); }).what(), HasSubstr("does not take batch 3"));
  Rig rig(model, {2});
  rig.stage({{1, 2, 3}, {4, 5, 6}});
  rig.run(0, {0, 1});
  EXPECT_THAT(rig.floats(0), ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST(OvSession, AnotherShapeThanTheFilesIsRefusedByNode) {
  Graph graph = doubling(false).graph();
  graph.values[1].dims = Dims{{1, batch_symbol}, {4, ""}};
  const tiny_network::TinyModel model(tiny_network::text("-1", false), graph);
  const Error error = failure([&] { const Rig rig(model); });
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_STREQ(error.what(), "openvino: operator 'Add' (node 'twice') makes shape [2,3] there, not [2,4]");
}

TEST(OvSession, LayerTimesCarryTheNodesNames) {
  const auto model = doubling(false);
  Rig rig(model, {2}, 1, {{"profile", "on"}});
  rig.stage({{1, 2, 3}});
  std::vector<std::string> names;
  for (const LayerTiming& layer : rig.session->layer_timings()) names.push_back(layer.name);
  EXPECT_THAT(names, testing::Contains("twice"));
  EXPECT_TRUE(rig.statuses.empty()) << "that run is nobody's query";
  rig.run(0, {0, 0});
  EXPECT_THAT(rig.floats(0), ElementsAre(2, 4, 6, 2, 4, 6));
  Rig plain(model);
  plain.stage({{1, 2, 3}});
  EXPECT_TRUE(plain.session->layer_timings().empty());
}

TEST(OvBackend, SaysWhatItDoesNotDo) {
  const OvBackend backend;
  EXPECT_THAT(backend.version(), testing::MatchesRegex("20[0-9]+\\.[0-9]+\\.[0-9]+-[0-9]+-[0-9a-f]+(, without AMX)?"));
  const auto reason = [&](const std::string& precision, const GraphSummary& graph) {
    Point point;
    point.precision = precision;
    return backend.supports(point, graph).reason;
  };
  GraphSummary plain, quantized;
  quantized.operators = {{"DequantizeLinear", "", 1, "d"}, {"QuantizeLinear", "", 1, "q"}};
  EXPECT_EQ(reason("fp32", plain), "");
  EXPECT_THAT(reason("fp16", plain), HasSubstr("fp16"));
  EXPECT_THAT(reason("int8", plain), HasSubstr("needs a quantized file"));
  EXPECT_EQ(reason("int8", quantized), "");
  EXPECT_THAT(reason("fp32", quantized), HasSubstr("node 'q'"));
  EXPECT_EQ(reason("bf16", plain).empty(), ov_cpu_can("BF16"));
  Point point;
  point.placement.devices = {DeviceId{.kind = "cuda"}};
  EXPECT_THAT(backend.supports(point, plain).reason, HasSubstr("cuda"));
  point = {};
  point.task = "train";
  EXPECT_THAT(backend.supports(point, plain).reason, HasSubstr("train"));
  point = {};
  point.options["openvino.pin"] = "maybe";
  EXPECT_THROW(backend.supports(point, plain), Error);
}

}  // namespace
}  // namespace deepgap
