// Queries, samples and slots as users of a Session may handle them, and what they get wrong: small networks, many queries.
#include "base/test_error.h"
#include "rig.h"
#include "tolerance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

namespace deepgap::conformance {
namespace {

// y = relu(x + x) of rows of three.
Graph tiny_network(uint64_t network_seed, int64_t fixed_batch = 0) {
  Random random(network_seed);
  GraphBuilder net(random, 17);
  const ValueId x = net.input({3});
  Graph graph = net.finish({net.node("Relu", {net.node("Add", {x, x})})});
  if (fixed_batch == 0) return graph;
  for (Value& value : graph.values) value.dims->front() = {fixed_batch, ""};
  return graph;
}

class Queries : public testing::Test {
 protected:
  GraphModel model{tiny_network(seed())};
  Random random{seed() + 1};
  Samples samples = random_samples(random, model.graph(), 4);

  void expect_right(const Rig& rig, int slot, const std::vector<uint32_t>& chosen) const {
    EXPECT_EQ(difference(reference(model.graph(), samples, chosen), rig.session->outputs(slot)), "");
  }
};

// A Session need not block while a query of it runs: the slot that came back may be used at once, while another callback lingers.
TEST_F(Queries, SlotsMayBeUsedAgainAtOnce) {
  Rig rig(model, {1}, 2, 2);
  rig.stage(samples);
  std::array<std::atomic<bool>, 2> busy{};
  rig.heard = [&](const Done& done) {
    busy.at(done.tag % 2).store(false);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  };
  constexpr uint64_t queries = 300;
  for (uint64_t tag = 0; tag < queries; ++tag) {
    while (busy[tag % 2].load()) rig.clock->wait_until(rig.clock->now() + 20'000);
    busy[tag % 2].store(true);
    rig.enqueue(static_cast<int>(tag % 2), {static_cast<uint32_t>(tag % 4)}, tag);
  }
  rig.session->drain();
  EXPECT_EQ(rig.delivered.size(), queries);
  for (const auto& [tag, statuses] : rig.delivered) ASSERT_EQ(statuses, std::vector<Status>{Status::ok}) << tag;
  expect_right(rig, 0, {(queries - 2) % 4});
  expect_right(rig, 1, {(queries - 1) % 4});
}

TEST_F(Queries, MoreSlotsThanCores) {
  constexpr int slots = 40;
  Rig rig(model, {1}, slots);
  ASSERT_GE(rig.session->slots(), slots);
  rig.stage(samples);
  for (int slot = 0; slot < slots; ++slot) rig.enqueue(slot, {static_cast<uint32_t>(slot % 4)}, static_cast<uint64_t>(slot));
  rig.session->drain();
  for (int slot = 0; slot < slots; ++slot) expect_right(rig, slot, {static_cast<uint32_t>(slot % 4)});
}

TEST_F(Queries, CancelDeliversWhatIsPending) {
  Rig rig(model, {1}, 2);
  rig.stage(samples);
  for (uint64_t round = 0; round < 30; ++round) {
    rig.enqueue(0, {0}, 2 * round);
    rig.enqueue(1, {1}, 2 * round + 1);
    rig.session->cancel();
  }
  EXPECT_EQ(rig.delivered.size(), 60u);
  for (const auto& [tag, statuses] : rig.delivered) {
    ASSERT_EQ(statuses.size(), 1u) << tag;
    EXPECT_NE(statuses.front(), Status::failed) << rig.last_error();
  }
  ASSERT_EQ(rig.run(0, {3}), Status::ok);
  expect_right(rig, 0, {3});
}

TEST_F(Queries, SessionMayEndWithQueriesPending) {
  for (int round = 0; round < 10; ++round) {
    Rig rig(model, {1}, 2);
    rig.stage(samples);
    rig.enqueue(0, {0}, 0);
    rig.enqueue(1, {1}, 1);
    rig.session.reset();
    EXPECT_LE(rig.delivered.size(), 2u);
    for (const auto& [tag, statuses] : rig.delivered) EXPECT_EQ(statuses.size(), 1u) << tag;
  }
}

// One block of memory or pieces anywhere: an engine may use samples where they lie.
TEST_F(Queries, SamplesMayLieTogetherOrApart) {
  const size_t bytes = samples[0][0].bytes(), padding = 4;
  for (const size_t gap : {size_t{0}, padding}) {
    std::vector<std::byte> block(4 * (bytes + gap));
    std::vector<std::vector<TensorView>> views;
    for (size_t i = 0; i < 4; ++i) {
      std::byte* at = block.data() + i * (bytes + gap);
      std::memcpy(at, samples[i][0].data.get(), bytes);
      views.push_back({TensorView{DataType::f32, samples[i][0].shape, at}});
    }
    const std::vector<std::byte> before = block;
    Rig rig(model, {1, 3}, 2);
    rig.session->stage(views);
    int slot = 0;
    for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{0, 1, 2}, {1, 2, 3}, {3, 1, 0}, {2}, {1, 2, 3}, {0}, {2, 1, 3}}) {
      slot = 1 - slot;
      ASSERT_EQ(rig.run(slot, chosen), Status::ok) << rig.last_error();
      expect_right(rig, slot, chosen);
    }
    EXPECT_EQ(block, before) << "samples were written to";
  }
}

TEST_F(Queries, WrongNumbersOfSamplesFailWithTheReason) {
  if (!computes()) return;  // the null backend takes everything
  Rig rig(model, {2});
  rig.stage(samples);
  for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{0, 1, 2}, {}}) {
    EXPECT_EQ(rig.run(0, chosen), Status::failed) << chosen.size();
    EXPECT_NE(rig.last_error().find(fmt::format("{} samples", chosen.size())), std::string::npos) << rig.last_error();
  }
  EXPECT_EQ(rig.run(0, {0, 9}), Status::failed) << "sample 9 was not staged";
  ASSERT_EQ(rig.run(0, {0, 1}), Status::ok) << "a failed query leaves the Session usable";
  expect_right(rig, 0, {0, 1});
}

TEST_F(Queries, WrongSamplesAreRefused) {
  if (!computes()) return;  // the null backend takes everything
  Rig rig(model, {2});
  const Shape shape{1, 3};
  const std::vector<int32_t> whole_numbers(3);
  const auto* bytes = reinterpret_cast<const std::byte*>(whole_numbers.data());
  const std::vector<std::vector<TensorView>> none{{}}, integers{{{DataType::i32, shape, bytes}}};
  for (const auto& wrong : {none, integers}) {
    const Error error = failure_of([&] { rig.session->stage(wrong); });
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

TEST_F(Queries, FixedShapesTakeTheirBatchOnly) {
  const GraphModel fixed(tiny_network(seed(), 2));
  if (computes()) {
    const Error error = failure_of([&] { const Rig rig(fixed, {3}); });
    EXPECT_EQ(error.kind(), ErrorKind::refused) << error.what();
  }
  Rig rig(fixed, {2});
  rig.stage(samples);
  ASSERT_EQ(rig.run(0, {3, 1}), Status::ok) << rig.last_error();
  expect_right(rig, 0, {3, 1});
}

// A Model whose bytes are none, as a writer with a fault would make them.
class BrokenModel final : public Model {
 public:
  explicit BrokenModel(const GraphModel& whole) : whole_(whole) {}
  const std::string& name() const override { return whole_.name(); }
  const Graph& graph() const override { return whole_.graph(); }
  const GraphSummary& summary() const override { return whole_.summary(); }
  std::span<const std::byte> onnx() const override { return std::as_bytes(std::span(bytes_)); }
  const std::string& file() const override { return whole_.file(); }

 private:
  const GraphModel& whole_;
  std::string bytes_ = "this is no model";
};

TEST_F(Queries, BrokenBytesAreAnInputError) {
  if (backend().form() != ModelForm::onnx) return;  // it does not read them
  const BrokenModel broken(model);
  const Error error = failure_of([&] { const Rig rig(broken, {1}); });
  EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
  EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
}

// Found before anything is loaded: in one line that names the option.
TEST_F(Queries, WrongOptionValuesAreNamed) {
  if (!computes()) return;  // the null backend's are its script
  for (const OptionInfo& option : backend().options()) {
    const Error error = failure_of([&] {
      EngineRequest request = request_in("fp32");
      request.options[option.name] = "no-such-value";
      const Support support = backend().supports(request, model.summary());
      if (!support.ok) throw Error(ErrorKind::refused, support.reason);
    });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << option.name << ": " << error.what();
    EXPECT_NE(std::string(error.what()).find(option.name), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace deepgap::conformance
