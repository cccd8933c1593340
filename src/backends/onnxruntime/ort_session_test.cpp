// On the real library, with files of a few nodes: y = x + x of [N, 3], and z = the positions of non-zero values, whose shape only the run
// knows.
#include "backends/onnxruntime/ort_backend.h"
#include "backends/onnxruntime/tiny_onnx.h"
#include "base/clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iterator>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace tiny = tiny_onnx;

Graph graph_of(const std::vector<Node>& nodes, const std::optional<Dims>& input = Dims{{1, "N"}, {3, ""}}) {
  Graph graph;
  graph.values = {{"x", DataType::f32, input}, {"y", DataType::f32, input}, {"z", DataType::i64, std::nullopt}};
  graph.nodes = nodes;
  graph.inputs = {0};
  graph.outputs = {1, 2};
  return graph;
}

tiny::TinyModel doubling_model() {
  const std::string bytes = tiny::model({tiny::node("Add", "twice", {"x", "x"}, "y"), tiny::node("NonZero", "where", {"x"}, "z")},
                                        tiny::value_info("x", tiny::f32, {"N", "3"}),
                                        {tiny::value_info("y", tiny::f32, {"N", "3"}), tiny::value_info("z", tiny::i64, {"2", "M"})});
  return {bytes, graph_of({{"twice", "Add", "", {0, 0}, {1}, {}}, {"where", "NonZero", "", {0}, {2}, {}}})};
}

class Rig {
 public:
  explicit Rig(const Model& model, std::vector<int64_t> batches = {2}, int slots = 2, int threads = 1,
               std::map<std::string, std::string> script = {}) {
    LoadOptions options{.batch_sizes = std::move(batches), .slots = slots, .threads = threads, .options = std::move(script)};
    options.clock = clock.get();
    options.completion = [this](std::span<const Done> done) {
      for (const Done& one : done) {
        tags.push_back(one.tag);
        statuses.push_back(one.status);
        marks.clear();
        for (const Mark& mark : one.marks) marks.push_back(mark.id);
      }
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
  void enqueue(int slot, const std::vector<uint32_t>& samples, uint64_t tag = 0) { session->enqueue(slot, samples, tag); }
  std::vector<float> floats(int slot) const {
    const auto values = session->outputs(slot)[0].as<float>();
    return {values.begin(), values.end()};
  }

  OrtBackend backend;
  std::unique_ptr<Clock> clock = make_real_clock();
  std::vector<uint64_t> tags;
  std::vector<Status> statuses;
  std::vector<MarkId> marks;
  std::unique_ptr<Session> session;

 private:
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

size_t threads_of_process() { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {})); }

TEST(OrtSession, RunsABatchOfStagedSamples) {
  const auto model = doubling_model();
  Rig rig(model);
  rig.stage({{1, 2, 3}, {4, 0, 6}, {7, 8, 9}});
  rig.enqueue(1, {2, 1}, 42);
  EXPECT_THAT(rig.tags, ElementsAre(42));
  EXPECT_THAT(rig.statuses, ElementsAre(Status::ok));
  EXPECT_THAT(rig.marks, ElementsAre(MarkId::h2d_begin, MarkId::compute_begin, MarkId::compute_end));
  EXPECT_THAT(rig.session->outputs(1)[0].shape, ElementsAre(2, 3));
  EXPECT_THAT(rig.floats(1), ElementsAre(14, 16, 18, 8, 0, 12));
}

TEST(OrtSession, OutputsHaveTheShapesOfTheirRun) {
  const auto model = doubling_model();
  Rig rig(model);
  rig.stage({{1, 2, 3}, {4, 0, 6}});
  rig.enqueue(0, {0, 1});
  EXPECT_THAT(rig.session->outputs(0)[1].shape, ElementsAre(2, 5));  // five values are not zero
  EXPECT_THAT(rig.session->outputs(0)[1].as<int64_t>(), ElementsAre(0, 0, 0, 1, 1, 0, 1, 2, 0, 2));
  rig.enqueue(0, {1});  // a partial batch
  EXPECT_THAT(rig.session->outputs(0)[0].shape, ElementsAre(1, 3));
  EXPECT_THAT(rig.session->outputs(0)[1].as<int64_t>(), ElementsAre(0, 0, 0, 2));
}

TEST(OrtSession, SlotsDoNotDisturbEachOther) {
  const auto model = doubling_model();
  Rig rig(model);
  rig.stage({{1, 2, 3}, {4, 5, 6}});
  rig.enqueue(0, {0});
  rig.enqueue(1, {1});
  EXPECT_THAT(rig.floats(0), ElementsAre(2, 4, 6));
  EXPECT_THAT(rig.floats(1), ElementsAre(8, 10, 12));
  rig.stage({{-1, -2, -3}});
  EXPECT_THAT(rig.floats(1), ElementsAre(8, 10, 12));
  rig.enqueue(1, {0});
  EXPECT_THAT(rig.floats(1), ElementsAre(-2, -4, -6));
}

TEST(OrtSession, TooManySamplesFailWithTheReason) {
  const auto model = doubling_model();
  Rig rig(model);
  rig.stage({{1, 2, 3}});
  rig.enqueue(0, {0, 0, 0});
  EXPECT_THAT(rig.statuses, ElementsAre(Status::failed));
  EXPECT_THAT(rig.session->last_error(), HasSubstr("3 samples, loaded for at most 2"));
}

TEST(OrtSession, WrongSamplesAreRefused) {
  const auto model = doubling_model();
  Rig rig(model);
  const Shape shape{1, 3};
  const std::vector<std::vector<TensorView>> none{{}};
  const std::vector<std::vector<TensorView>> integers{{{DataType::i32, shape, nullptr}}};
  EXPECT_THAT(failure([&] { rig.session->stage(none); }).what(), HasSubstr("0 tensors"));
  EXPECT_THAT(failure([&] { rig.session->stage(integers); }).what(), HasSubstr("int32"));
}

TEST(OrtSession, UnknownOperatorIsRefusedByName) {
  const tiny::TinyModel model(tiny::model({tiny::node("Frobnicate", "strange", {"x"}, "y")}, tiny::value_info("x", tiny::f32, {"N", "3"}),
                                          {tiny::value_info("y", tiny::f32, {"N", "3"})}),
                              graph_of({{"strange", "Frobnicate", "", {0}, {1}, {}}}));
  const Error error = failure([&] { const Rig rig(model); });
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), HasSubstr("no operator 'Frobnicate' (node 'strange'"));
  EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
}

TEST(OrtSession, OperatorOfAnotherDomainIsRefusedByName) {
  const tiny::TinyModel model(tiny::model({tiny::node("Mix", "mixer", {"x"}, "y", "com.example")},
                                          tiny::value_info("x", tiny::f32, {"N", "3"}), {tiny::value_info("y", tiny::f32, {"N", "3"})}),
                              graph_of({{"mixer", "Mix", "com.example", {0}, {1}, {}}}));
  const Error error = failure([&] { const Rig rig(model); });
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), HasSubstr("'com.example.Mix' (node 'mixer'"));
}

TEST(OrtSession, MissingKernelIsRefusedByName) {
  // Integers of this type have no Softmax: the operator's types do not allow them.
  const tiny::TinyModel model(tiny::model({tiny::node("Softmax", "soft", {"x"}, "y")}, tiny::value_info("x", tiny::i64, {"N", "3"}),
                                          {tiny::value_info("y", tiny::i64, {"N", "3"})}),
                              graph_of({{"soft", "Softmax", "", {0}, {1}, {}}}));
  const Error error = failure([&] { const Rig rig(model); });
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), HasSubstr("'Softmax' (node 'soft')"));
}

TEST(OrtSession, BrokenBytesAreAnInputError) {
  const tiny::TinyModel model("this is no model", graph_of({}));
  EXPECT_EQ(failure([&] { const Rig rig(model); }).kind(), ErrorKind::input);
}

TEST(OrtSession, FixedShapesTakeTheirBatchOnly) {
  const std::string bytes = tiny::model({tiny::node("Add", "twice", {"x", "x"}, "y")}, tiny::value_info("x", tiny::f32, {"2", "3"}),
                                        {tiny::value_info("y", tiny::f32, {"2", "3"})});
  Graph graph = graph_of({{"twice", "Add", "", {0, 0}, {1}, {}}}, Dims{{2, ""}, {3, ""}});
  graph.outputs = {1};
  const tiny::TinyModel model(bytes, graph);
  EXPECT_THAT(failure([&] { const Rig rig(model, {3}); }).what(), HasSubstr("does not take batch 3"));
  Rig rig(model, {2});
  rig.stage({{1, 2, 3}, {4, 5, 6}});
  rig.enqueue(0, {0, 1});
  EXPECT_THAT(rig.floats(0), ElementsAre(2, 4, 6, 8, 10, 12));
  rig.enqueue(0, {0});
  EXPECT_THAT(rig.statuses, ElementsAre(Status::ok, Status::failed));
}

TEST(OrtSession, OnlyThePoolsThreadsAreAdded) {
  const auto model = doubling_model();
  const Rig first(model);  // the library's own, if it has any
  const size_t before = threads_of_process();
  const Rig rig(model, {2}, 1, 3);
  EXPECT_EQ(threads_of_process(), before + 2);
  EXPECT_EQ(before, 1u) << "one thread asked for and no telemetry: the loading thread alone";
}

TEST(OrtSession, OptionsAreTakenOrNamed) {
  const auto model = doubling_model();
  Rig rig(model, {2}, 1, 2,
          {{"execution_mode", "parallel"}, {"graph_optimization", "basic"}, {"inter_op_threads", "2"}, {"spinning", "off"}, {"pin", "on"}});
  rig.stage({{1, 2, 3}});
  rig.enqueue(0, {0});
  EXPECT_THAT(rig.floats(0), ElementsAre(2, 4, 6));
  const auto complaint = [&](const std::string& option, const std::string& value) {
    return std::string(failure([&] { const Rig wrong(model, {2}, 1, 1, {{option, value}}); }).what());
  };
  EXPECT_THAT(complaint("graph_optimization", "basik"), HasSubstr("did you mean 'basic'"));
  EXPECT_THAT(complaint("inter_op_threads", "0"), HasSubstr("inter_op_threads=0"));
  EXPECT_THAT(complaint("spinning", "maybe"), HasSubstr("spinning"));
}

TEST(OrtSession, TellsItsMemory) {
  const auto model = doubling_model();
  Rig rig(model);
  rig.stage({{1, 2, 3}});
  rig.enqueue(0, {0});
  const MemoryUse use = rig.session->memory();
  EXPECT_GE(use.reserved_bytes, 2 * 2 * (2 * 3 * 4));  // two slots' inputs and outputs at batch 2
  EXPECT_LE(use.in_use_bytes, use.peak_bytes);
}

TEST(OrtBackend, SaysWhatItDoesNotDo) {
  const OrtBackend backend;
  EXPECT_THAT(backend.version(), testing::MatchesRegex("1\\.[0-9]+\\.[0-9]+"));
  Point point;
  EXPECT_TRUE(backend.supports(point, {}).ok);
  point.precision = "bf16";
  EXPECT_THAT(backend.supports(point, {}).reason, HasSubstr("bf16"));
  point = {};
  point.placement.devices = {DeviceId{.kind = "cuda"}};
  EXPECT_THAT(backend.supports(point, {}).reason, HasSubstr("cuda"));
  point = {};
  point.options["onnxruntime.spinning"] = "maybe";
  point.threads = 1;
  EXPECT_THROW(backend.supports(point, {}), Error);
  point = {};
  point.task = "train";
  EXPECT_THAT(backend.supports(point, {}).reason, HasSubstr("train"));
}

}  // namespace
}  // namespace deepgap
