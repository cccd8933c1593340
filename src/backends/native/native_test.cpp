#include "backends/common/tiny_rig.h"
#include "backends/native/native_backend.h"
#include "backends/native/test_network.h"
#include "model/eval/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace deepgap {
namespace {

using testing::expect_rows;
using testing::GraphBuilder;
using testing::Samples;
using testing::small_net;
using testing::SummarizedModel;

struct Heard {
  std::vector<uint64_t> tags;
  std::vector<Status> statuses;
  std::vector<Mark> marks;
  std::vector<std::string> errors;
  Completion completion() {
    return [this](std::span<const Done> all) {
      for (const auto& done : all) {
        tags.push_back(done.tag);
        statuses.push_back(done.status);
        marks.assign(done.marks.begin(), done.marks.end());
        if (done.error != nullptr) errors.emplace_back(done.error->what());
      }
    };
  }
};

TEST(NativeBackend, RunsBatchesOfStagedSamplesInSlots) {
  const SummarizedModel model(small_net());
  for (const bool adjacent : {true, false}) {
    for (const std::string path : {"fast", "plain"}) {
      NativeBackend backend;
      Heard heard;
      LoadOptions options;
      options.batch_sizes = {1, 4};
      options.slots = 2;
      options.threads = 2;
      options.options["path"] = path;
      options.completion = heard.completion();
      const auto session = backend.load(model, options);
      const Samples samples(6, adjacent);
      session->stage(samples.views);
      const auto reference = evaluate(model.graph(), std::vector<Tensor>{samples.block})[0];
      session->enqueue(0, std::vector<uint32_t>{1, 2, 3, 4}, 10);
      session->enqueue(1, std::vector<uint32_t>{5}, 11);
      session->drain();
      EXPECT_THAT(heard.tags, ::testing::ElementsAre(10, 11));
      EXPECT_THAT(heard.statuses, ::testing::Each(Status::ok));
      ASSERT_EQ(heard.marks.size(), 5U);
      EXPECT_EQ(heard.marks[1].id, MarkId::h2d_begin);
      EXPECT_EQ(heard.marks[2].id, MarkId::compute_begin);
      EXPECT_LE(heard.marks[1].ns, heard.marks[2].ns);
      EXPECT_LE(heard.marks[2].ns, heard.marks[3].ns);
      expect_rows(session->outputs(0)[0], reference, {1, 2, 3, 4});
      expect_rows(session->outputs(1)[0], reference, {5});
      session->enqueue(0, std::vector<uint32_t>{0, 5, 2}, 12);  // between the loaded sizes
      expect_rows(session->outputs(0)[0], reference, {0, 5, 2});
      expect_rows(session->outputs(1)[0], reference, {5});  // another slot's outputs stay
      EXPECT_FALSE(session->layer_timings().empty());
    }
  }
}

TEST(NativeBackend, FailuresAreDoneWithAReason) {
  const SummarizedModel model(small_net());
  NativeBackend backend;
  Heard heard;
  LoadOptions options;
  options.completion = heard.completion();
  const auto session = backend.load(model, options);
  const Samples samples(3, true);
  session->stage(samples.views);
  session->enqueue(0, std::vector<uint32_t>{0, 1}, 1);
  EXPECT_EQ(heard.statuses, std::vector<Status>{Status::failed});
  EXPECT_EQ(heard.errors.back(), "native: 2 samples were enqueued, batch sizes loaded: 1");
  session->enqueue(0, std::vector<uint32_t>{9}, 2);
  EXPECT_EQ(heard.statuses.back(), Status::failed);
  const std::vector<TensorView> wrong{TensorView{DataType::f32, {}, nullptr}};
  EXPECT_THROW(session->stage(std::vector<std::vector<TensorView>>{wrong}), Error);
}

TEST(NativeBackend, MemoryIsKnown) {
  const SummarizedModel model(small_net());
  NativeBackend backend;
  const auto session = backend.load(model, {});
  EXPECT_GT(session->memory().reserved_bytes, (16 * 3 * 9 + 16 * 16 * 9) * 4);
}

std::string refusal(const Model& model, const LoadOptions& options) {
  NativeBackend backend;
  try {
    backend.load(model, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    return error.what();
  }
  return "not refused";
}

TEST(NativeBackend, RefusesWithTheReason) {
  const SummarizedModel model(small_net());
  LoadOptions half;
  half.precision = Precision::fp16;
  EXPECT_EQ(refusal(model, half),
            "native does not do precision fp16: it computes in fp32, bf16, mixed (bf16 on a CPU), and int8 for quantized files");
  LoadOptions other;
  other.placement.devices = {DeviceId{"", "tpu", 0}};
  EXPECT_EQ(refusal(model, other), "native has no device tpu:0: it runs on cpu and cuda:N");
  const SummarizedModel fixed(small_net(2));
  LoadOptions four;
  four.batch_sizes = {4};
  EXPECT_EQ(refusal(fixed, four), "native: this model has a fixed batch of 2, not 4");

  GraphBuilder b;
  const SummarizedModel odd(b.finish({b.node("Wobble", {b.input({1, 2})})}));
  EXPECT_EQ(refusal(odd, {}), "native does not run operator Wobble (node Wobble_0)");
  NativeBackend backend;
  EXPECT_EQ(backend.supports({}, odd.summary()).reason, "native does not run operator Wobble (node Wobble_0)");
  EXPECT_TRUE(backend.supports({}, model.summary()).ok);
}

// They are refused before anything runs.
TEST(NativeBackend, WrongOptionValuesAreTheUsersMistake) {
  const auto complaint = [](const std::string& name, const std::string& value) {
    EngineRequest request;
    request.options[name] = value;
    const Error error = failure_of([&] { NativeBackend().supports(request, {}); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return std::string(error.what());
  };
  EXPECT_EQ(complaint("path", "fats"), "native: invalid value 'fats' for path: expected fast or plain; did you mean 'fast'?");
  EXPECT_THAT(complaint("isa", "sse9"), ::testing::HasSubstr("invalid value 'sse9' for isa: expected "));
  EXPECT_EQ(complaint("part", "half"), "native: invalid value 'half' for part: expected auto or a whole number from 1 to 1073741824");
  EXPECT_EQ(complaint("streams", "0"), "native: invalid value '0' for streams: expected auto or a whole number from 1 to 1024");
  EXPECT_EQ(complaint("tune", "search"), "native: invalid value 'search' for tune: expected off, quick or full");
  EXPECT_THAT(complaint("inputs", "device"), ::testing::HasSubstr("unknown option of native 'inputs'")) << "it is no engine's";
}

// It holds with a driver and without one.
TEST(NativeBackend, RefusesAGpuThatIsNotThere) {
  const SummarizedModel model(small_net());
  LoadOptions gpu;
  gpu.placement.devices = {DeviceId{"", "cuda", 999}};
  const std::string reason = refusal(model, gpu);
  EXPECT_TRUE(reason.find("driver") != std::string::npos || reason.find("NVRTC") != std::string::npos) << reason;
  gpu.precision = Precision::fp4;
  EXPECT_EQ(
      refusal(model, gpu),
      "native on cuda does not do precision fp4: it computes in fp32, tf32, fp16, bf16, mixed (fp16), fp8 (products, on sm_89 and later), "
      "and int8 for quantized files");
}

// oneDNN runs more operators than the evaluator.
TEST(NativeBackend, PlainPathRefusesWhatOnlyOneDnnRuns) {
  const auto evaluated = evaluated_operators();
  for (const std::string op : {"ConvTranspose", "Elu", "Softplus", "Gelu"}) {
    if (std::binary_search(evaluated.begin(), evaluated.end(), op)) continue;
    GraphBuilder b;
    const ValueId x = b.input({1, 1, 2, 2});
    const std::vector<ValueId> inputs = op == "ConvTranspose" ? std::vector<ValueId>{x, b.weights({1, 1, 2, 2})} : std::vector<ValueId>{x};
    const SummarizedModel model(b.finish({b.node(op, inputs)}));
    LoadOptions plain;
    plain.options["path"] = "plain";
    EXPECT_EQ(refusal(model, plain), "native with path=plain does not run operator " + op + " (node " + op + "_0)");
  }
}

TEST(NativeBackend, FixedBatchesRun) {
  const SummarizedModel model(small_net(2));
  NativeBackend backend;
  LoadOptions options;
  options.batch_sizes = {2};
  const auto session = backend.load(model, options);
  const Samples samples(4, false);
  session->stage(samples.views);
  session->enqueue(0, std::vector<uint32_t>{3, 0}, 1);
  Tensor both = testing::floats({2, 3, 16, 16}, samples.copies[3]);
  std::copy(samples.copies[0].begin(), samples.copies[0].end(), writable<float>(both).begin() + 768);
  expect_rows(session->outputs(0)[0], evaluate(model.graph(), std::vector<Tensor>{both})[0], {0, 1});
}

TEST(NativeBackend, DescribesItself) {
  NativeBackend backend;
  const auto devices = backend.devices();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_FALSE(devices[0].name.empty());
  EXPECT_GT(devices[0].memory_bytes, 0);
  EXPECT_TRUE(backend.version().starts_with("oneDNN 3."));
}

}  // namespace
}  // namespace deepgap
