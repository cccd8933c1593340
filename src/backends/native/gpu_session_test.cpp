// Sessions on a fake GPU (cuda/fake_driver.h): what they hold there, what they give back, and what they report when it fails. Results are
// zeros; tests/gpu_emulation and a real GPU show whether results are right.
#include "backends/native/gpu_session.h"

#include "backends/native/native_backend.h"
#include "backends/native/test_network.h"
#include "base/clocks.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "cuda/compiler.h"
#include "cuda/fake_cublas_lt.h"
#include "cuda/fake_cudnn.h"
#include "cuda/fake_driver.h"
#include "engine/gpu/network.h"

#include <gmock/gmock.h>

#include <mutex>
#include <numeric>

namespace deepgap {
namespace {

using cuda::FakeDriver;
using ::testing::HasSubstr;
using testing::Samples;
using testing::small_net;
using testing::SummarizedModel;

class GpuSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
    options_.placement.devices = {DeviceId{"", "cuda", 0}};
    options_.batch_sizes = {1, 4};
    options_.cache_dir = cache().path();
    options_.options = {{"tune", "off"}};
    options_.clock = clock_.get();
    options_.completion = [this](std::span<const Done> all) {
      const std::lock_guard lock(mutex_);
      for (const Done& done : all) {
        statuses_.push_back(done.status);
        if (done.error != nullptr) error_ = done.error->what();
      }
    };
  }
  // All tests share one cache, so that each text is compiled once.
  static const TemporaryFolder& cache() {
    static const TemporaryFolder folder;
    return folder;
  }
  std::unique_ptr<Session> load() { return make_gpu_session(model_, options_, native_options().parse(options_.options)); }
  // Two slots, of which the first has launched a query that the device holds back.
  std::unique_ptr<Session> launched_and_held(const Samples& samples) {
    options_.slots = 2;
    auto session = load();
    session->stage(samples.views);
    fake_.hold(true);
    session->enqueue(0, std::vector<uint32_t>{1}, 1);
    return session;
  }
  std::vector<Status> statuses() {
    const std::lock_guard lock(mutex_);
    return statuses_;
  }

  FakeDriver fake_;
  cuda::DriverStandIn driver_{fake_.table()};
  cuda::FakeCublasLt products_;
  cuda::CublasLtStandIn library_{products_.table()};
  cuda::FakeCudnn convolutions_;
  cuda::CudnnStandIn networks_{convolutions_.table()};
  std::unique_ptr<Clock> clock_ = make_real_clock();
  SummarizedModel model_{small_net()};
  LoadOptions options_;
  std::mutex mutex_;
  std::vector<Status> statuses_;
  std::string error_;  // the last failure's
};

TEST_F(GpuSessionTest, AnswersInShapesOfTheQueryWhereverItsSamplesLie) {
  for (const InputPlace inputs : {InputPlace::host, InputPlace::host_ready, InputPlace::device, InputPlace::ready}) {
    options_.inputs = inputs;
    const auto session = load();
    const Samples samples(6, false);
    session->stage(samples.views);
    session->enqueue(0, std::vector<uint32_t>{4, 1, 5}, 1);
    session->drain();
    EXPECT_EQ(std::vector<int64_t>(session->outputs(0)[0].shape.begin(), session->outputs(0)[0].shape.end()), (Shape{3, 10}))
        << static_cast<int>(inputs);
    EXPECT_FALSE(session->layer_timings().empty());
  }
  EXPECT_EQ(statuses(), std::vector<Status>(4, Status::ok));
}

TEST_F(GpuSessionTest, CopiesNothingForPlacesThatNoQueryAskedFor) {
  const auto session = load();
  const Samples samples(6, false);
  session->stage(samples.views);
  session->enqueue(0, std::vector<uint32_t>{4, 1, 5}, 1);
  session->drain();
  EXPECT_EQ(fake_.copied_together, 3) << "one a sample: they are no neighbours";
}

TEST_F(GpuSessionTest, ReadsNeighboursOnTheDeviceWhereTheyLie) {
  options_.inputs = InputPlace::device;
  const auto session = load();
  const Samples samples(6, false);
  session->stage(samples.views);
  std::vector<cuda::Address> given;
  fake_.on_give = [&](const std::string&, void** arguments) { given.push_back(*static_cast<cuda::Address*>(arguments[0])); };
  const auto copied = [&](std::vector<uint32_t> which) {
    const int before = fake_.calls("cuLaunchKernelEx");
    session->enqueue(0, which, 1);
    session->drain();
    return fake_.calls("cuLaunchKernelEx") > before;
  };
  EXPECT_FALSE(copied({1}));
  EXPECT_FALSE(copied({1}));
  EXPECT_FALSE(copied({4}));
  ASSERT_EQ(given.size(), 2u) << "the same sample again is there already";
  EXPECT_EQ(given[1] - given[0], 3u * (3 * 16 * 16 * 4));
  EXPECT_FALSE(copied({0, 1, 2}));
  EXPECT_EQ(given.back(), given[0] - 3 * 16 * 16 * 4);
  EXPECT_TRUE(copied({3, 4, 5})) << "a batch of four would read beyond the last sample";
  EXPECT_TRUE(copied({4, 1, 5}));
  EXPECT_EQ(given.size(), 4u) << "both are copied to the same place";
  EXPECT_EQ(statuses(), std::vector<Status>(6, Status::ok));
}

TEST_F(GpuSessionTest, AnAddressThatWasNotTakenIsGivenAgain) {
  options_.inputs = InputPlace::device;
  const auto session = load();
  const Samples samples(6, false);
  session->stage(samples.views);
  int given = 0;
  fake_.on_give = [&](const std::string&, void**) { ++given; };
  fake_.fail("cuGraphExecKernelNodeSetParams_v2", FakeDriver::out_of_memory);
  session->enqueue(0, std::vector<uint32_t>{1}, 1);
  session->drain();
  EXPECT_THAT(error_, HasSubstr("while giving a graph other arguments"));
  fake_.mend();
  session->enqueue(0, std::vector<uint32_t>{1}, 2);
  session->drain();
  EXPECT_EQ(given, 1);
  EXPECT_EQ(statuses(), (std::vector<Status>{Status::failed, Status::ok}));
}

// Zeros, which an input holds before a query, are computed sooner.
TEST_F(GpuSessionTest, LayersAreTimedWithSamplesThatAreReadElsewhere) {
  options_.inputs = InputPlace::device;
  const auto session = load();
  const Samples samples(6, false);
  session->stage(samples.views);
  std::vector<std::string> kernels;
  fake_.on_launch = [&](const std::string& kernel, const cuda::LaunchConfig&, void**, bool) { kernels.push_back(kernel); };
  session->layer_timings();
  ASSERT_FALSE(kernels.empty());
  EXPECT_THAT(kernels.front(), ::testing::StartsWith("gather_"));
  kernels.clear();
  session->run_layers([](const std::string&, const std::string&) {});
  EXPECT_THAT(kernels.front(), ::testing::StartsWith("gather_"));
}

// What it writes must not lie where the step before it reads still.
TEST_F(GpuSessionTest, AShortcutComputesBesideTheKernelBeforeItInMemoryOfItsOwn) {
  testing::GraphBuilder b;
  const ValueId x = b.node("Relu", {b.conv(b.input({-1, 3, 16, 16}), 3, 16, 3)});
  const ValueId inner = b.node("Relu", {b.conv(b.node("Relu", {b.conv(x, 16, 16, 3)}), 16, 16, 3)});
  const ValueId outer = b.conv(inner, 16, 16, 1), shortcut = b.conv(x, 16, 16, 3);
  const Graph graph = b.finish({b.node("Relu", {b.node("Add", {outer, shortcut})})});
  const cuda::DeviceContext context(0);
  const gpu::Network network(graph, gpu::Chip{}, "a device", {.batch_sizes = {1}, .tuning = gpu::Tuning::off, .clock = clock_.get()});
  const gpu::Program& program = network.programs().at(1);
  const auto& steps = program.plan.steps;
  const auto found = std::find_if(steps.begin(), steps.end(), [](const gpu::Step& step) { return step.beside_previous; });
  ASSERT_NE(found, steps.end());
  EXPECT_EQ(std::count_if(steps.begin(), steps.end(), [](const gpu::Step& step) { return step.beside_previous; }), 1);
  const auto place = [&](gpu::BufferId id) { return program.offsets.at(static_cast<size_t>(id)); };
  const auto bytes = [&](gpu::BufferId id) { return program.plan.buffers.at(static_cast<size_t>(id)).bytes; };
  for (const gpu::BufferId written : found->writes)
    for (const gpu::BufferId read : std::prev(found)->reads) {
      if (program.plan.buffers.at(static_cast<size_t>(read)).kind != gpu::Buffer::Kind::arena) continue;
      EXPECT_TRUE(place(written) >= place(read) + bytes(read) || place(read) >= place(written) + bytes(written));
    }
}

// A query of any size in between goes through the next larger one.
TEST_F(GpuSessionTest, CompilesFewOfManyBatchSizes) {
  using ::testing::ElementsAre;
  std::vector<int64_t> all(64);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_THAT(gpu::compiled_sizes(all), ElementsAre(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64));
  EXPECT_THAT(gpu::compiled_sizes({5, 3, 5}), ElementsAre(3, 5));
  for (int64_t& size : all) size *= 5;
  EXPECT_THAT(gpu::compiled_sizes(all), ElementsAre(5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320));
}

TEST_F(GpuSessionTest, AnnouncesEachLayerBeforeItsKernels) {
  const auto session = load();
  std::vector<std::string> announced, timed;
  std::vector<int> launches;
  EXPECT_TRUE(session->run_layers([&](const std::string& name, const std::string&) {
    announced.push_back(name);
    launches.push_back(fake_.calls("cuLaunchKernelEx"));
  }));
  for (const LayerTiming& layer : session->layer_timings()) timed.push_back(layer.name);
  EXPECT_EQ(announced, timed);
  ASSERT_FALSE(launches.empty());
  EXPECT_TRUE(std::is_sorted(launches.begin(), launches.end()));
  EXPECT_GT(launches.back(), launches.front());
}

// A CUDA graph is recorded before any query came (compute-sanitizer's initcheck found it).
TEST_F(GpuSessionTest, ItsFirstRunReadsInputsThatAreSet) {
  int filled = -1;
  fake_.on_launch = [&](const std::string&, const cuda::LaunchConfig&, void**, bool) {
    if (filled < 0) filled = fake_.calls("cuMemsetD8Async");
  };
  load();
  EXPECT_GT(filled, 0);
}

// A kernel that begins before the one before it has ended would have the wait for it in its time.
TEST_F(GpuSessionTest, KernelsOfLayersBeginOneAfterTheOther) {
  int early = 0;
  fake_.on_launch = [&](const std::string&, const cuda::LaunchConfig& config, void** arguments, bool) {
    for (unsigned i = 0; arguments != nullptr && i < config.attribute_count; ++i)
      early += config.attributes[i].id == cuda::attribute_programmatic ? 1 : 0;
  };
  options_.options["cuda_graph"] = "off";
  const auto session = load();
  const Samples samples(6, false);
  session->stage(samples.views);
  session->enqueue(0, std::vector<uint32_t>{4, 1, 5}, 1);
  session->drain();
  EXPECT_GT(early, 0) << "a query's do";
  early = 0;
  EXPECT_TRUE(session->run_layers([](const std::string&, const std::string&) {}));
  EXPECT_EQ(early, 0);
}

TEST_F(GpuSessionTest, BatchesThatMayNotOverlapWaitForTheOneBefore) {
  options_.slots = 2;
  for (const auto& [overlap, waits] : std::map<std::string, int>{{"off", 2}, {"on", 0}}) {
    options_.options["overlap"] = overlap;
    const auto session = load();
    const Samples samples(6, false);
    session->stage(samples.views);
    const int before = fake_.calls("cuStreamWaitEvent");
    for (const int slot : {0, 1, 0}) {
      session->enqueue(slot, std::vector<uint32_t>{4, 1, 5}, 1);
      session->drain();
    }
    EXPECT_EQ(fake_.calls("cuStreamWaitEvent") - before, waits) << overlap << ": the first has none before it";
  }
}

TEST_F(GpuSessionTest, ItsVersionIsToldOnceItIsLoaded) {
  NativeBackend backend;
  EXPECT_THAT(backend.version(), HasSubstr("oneDNN"));
  const auto session = backend.load(model_, options_);
  EXPECT_THAT(backend.version(), ::testing::StartsWith("own kernels, NVRTC "));
  EXPECT_THAT(backend.version(), ::testing::Not(HasSubstr("/")));
}

// Kernels of ours take long, so that the library wins.
class GpuLibrariesTest : public GpuSessionTest {
 protected:
  void SetUp() override {
    GpuSessionTest::SetUp();
    options_.options["tune"] = "full";
    options_.cache_dir = own_cache().path();  // nobody else's winners
    fake_.on_launch = [this](const std::string& kernel, const cuda::LaunchConfig&, void**, bool in_graph) {
      if (kernel != quickest_) fake_.pass_us(50);
      if (kernel == quickest_ && in_graph) ++in_graphs_;
    };
  }
  static const TemporaryFolder& own_cache() {
    static const TemporaryFolder folder;
    return folder;
  }
  std::string quickest_ = "cublas_lt";
  int in_graphs_ = 0;
};

TEST_F(GpuLibrariesTest, WhatALibraryDoesQuickestIsPartOfTheRecordedGraph) {
  const auto session = load();
  EXPECT_GT(products_.products, 0);
  const Samples samples(6, false);
  session->stage(samples.views);
  const int before = products_.products;
  session->enqueue(0, std::vector<uint32_t>{4, 1, 5}, 1);
  session->drain();
  EXPECT_EQ(statuses(), std::vector<Status>{Status::ok});
  EXPECT_GT(in_graphs_, 0);
  EXPECT_EQ(products_.products, before) << "the graph is replayed, the library not called";
}

TEST_F(GpuLibrariesTest, ACallThatFailsAtRunFailsItsQueryAlone) {
  options_.options["cuda_graph"] = "off";
  const auto session = load();
  const Samples samples(6, false);
  session->stage(samples.views);
  products_.runs = cuda::lt_not_supported;
  session->enqueue(0, std::vector<uint32_t>{1}, 1);
  session->drain();
  EXPECT_THAT(error_, HasSubstr("cuBLASLt says CUBLAS_STATUS_NOT_SUPPORTED while a product is launched"));
  products_.runs = 0;
  session->enqueue(0, std::vector<uint32_t>{1}, 2);
  session->drain();
  EXPECT_EQ(statuses(), (std::vector<Status>{Status::failed, Status::ok}));
}

TEST_F(GpuLibrariesTest, SoAreConvolutionsOfALibrary) {
  const TemporaryFolder cache;
  options_.cache_dir = cache.path();
  quickest_ = "cudnn";
  const auto session = load();
  const Samples samples(6, false);
  session->stage(samples.views);
  const int before = convolutions_.convolutions;
  EXPECT_GT(before, 0);
  session->enqueue(0, std::vector<uint32_t>{4, 1, 5}, 1);
  session->drain();
  EXPECT_EQ(statuses(), std::vector<Status>{Status::ok});
  EXPECT_GT(in_graphs_, 0);
  EXPECT_EQ(convolutions_.convolutions, before);
}

TEST_F(GpuLibrariesTest, GivesBackTheLibraryAndItsWorkspace) {
  load();
  EXPECT_EQ(products_.opened, 1);
  EXPECT_EQ(products_.closed, 1);
  EXPECT_EQ(convolutions_.opened, 1);
  EXPECT_EQ(convolutions_.closed, 1);
  EXPECT_EQ(convolutions_.described, 0);
  EXPECT_EQ(fake_.taken_bytes(), 0u);
}

TEST_F(GpuLibrariesTest, OffHasOwnKernelsAlone) {
  NativeBackend backend;
  options_.options["libraries"] = "off";
  const auto session = backend.load(model_, options_);
  EXPECT_EQ(products_.opened, 0);
  EXPECT_EQ(convolutions_.opened, 0);
  EXPECT_THAT(backend.version(), ::testing::Not(HasSubstr("cuBLASLt")));
}

TEST_F(GpuLibrariesTest, ItsVersionIsToldWhereItWasACandidate) {
  NativeBackend backend;
  const auto session = backend.load(model_, options_);
  EXPECT_THAT(backend.version(), ::testing::EndsWith(", cuBLASLt 13.1.0, cuDNN 9.19.0"));
  options_.options["tune"] = "off";
  const auto untuned = backend.load(model_, options_);
  EXPECT_THAT(backend.version(), ::testing::Not(HasSubstr("cuBLASLt")));
  EXPECT_EQ(gpu_devices().at(0).properties.at("libraries"),
            "cuBLASLt 13.1.0, /played/libcublasLt.so.13; cuDNN 9.19.0, /played/libcudnn.so.9");
}

TEST_F(GpuSessionTest, DoesFloat8InProductsOfTheChipsThatHaveIt) {
  options_.precision = Precision::fp8;
  EXPECT_EQ(load()->precision_shares().size(), 1u) << "the one product is the result: as in fp16";
  EXPECT_EQ(gpu_precision_refusal(Precision::fp8, {}),
            "native on cuda does precision fp8 in products with constant weights (MatMul, Gemm), and this network has none");
}

TEST_F(GpuSessionTest, TellsOfAllMemoryThatItHoldsAndGivesItBack) {
  options_.inputs = InputPlace::device;
  {
    const auto session = load();
    const int64_t loaded = session->memory().in_use_bytes;
    EXPECT_EQ(loaded, static_cast<int64_t>(fake_.taken_bytes()));
    const Samples samples(6, false);
    session->stage(samples.views);
    const MemoryUse use = session->memory();
    EXPECT_EQ(use.in_use_bytes, static_cast<int64_t>(fake_.taken_bytes()));
    EXPECT_GE(use.in_use_bytes, loaded + 6 * 3 * 16 * 16 * 4);
    EXPECT_GE(use.reserved_bytes, use.in_use_bytes);
    session->reset_peak();
    EXPECT_EQ(session->memory().peak_bytes, use.in_use_bytes);
    const auto second = load();
    EXPECT_EQ(session->memory().in_use_bytes, second->memory().in_use_bytes) << "both tell of the device";
    EXPECT_EQ(session->memory().peak_bytes, static_cast<int64_t>(fake_.taken_bytes()));
  }
  EXPECT_EQ(fake_.taken_bytes(), 0u);
}

// The losing candidates of a tuner are gone from the device, too.
TEST_F(GpuSessionTest, WhatTuningTookIsGivenBackAndItsPeakIsTold) {
  options_.options["tune"] = "off";
  size_t untuned = 0;
  {
    const auto session = load();
    untuned = fake_.taken_bytes();
  }
  const int modules = fake_.calls("cuModuleLoadData") - fake_.calls("cuModuleUnload");
  EXPECT_EQ(modules, 0);
  options_.options["tune"] = "quick";
  const auto session = load();
  EXPECT_LT(fake_.taken_bytes(), 2 * untuned);
  EXPECT_GT(session->memory().peak_bytes, session->memory().in_use_bytes);
  EXPECT_GT(fake_.calls("cuModuleUnload"), modules);
}

TEST_F(GpuSessionTest, HasItsWeightsOnTheDeviceAlone) {
  const cuda::DeviceContext context(0);
  const gpu::Network network(model_.graph(), gpu::Chip{}, "a device",
                             {.batch_sizes = {1, 4}, .tuning = gpu::Tuning::off, .clock = clock_.get()});
  size_t constants = 0;
  for (const auto& [batch, program] : network.programs()) {
    for (const gpu::Step& step : program.plan.steps) EXPECT_FALSE(step.choice) << step.name;
    for (size_t b = 0; b < program.plan.buffers.size(); ++b) {
      if (program.plan.buffers[b].kind != gpu::Buffer::Kind::constant) continue;
      ++constants;
      EXPECT_EQ(program.plan.buffers[b].data, nullptr);
      EXPECT_NE(program.constants.at(b), 0u);
    }
  }
  EXPECT_GT(constants, 0u);
  EXPECT_EQ(network.weight_bytes(), fake_.taken_bytes());
  for (const char* part : {"lower", "kernels", "tune", "pack", "upload"}) EXPECT_TRUE(network.load_parts().contains(part)) << part;
}

TEST_F(GpuSessionTest, TellsHowLongThePartsOfItsLoadTook) {
  const Nanoseconds begin = clock_->now();
  const LoadParts parts = load()->load_parts();
  const Nanoseconds whole = clock_->now() - begin;
  Nanoseconds sum = 0;
  for (const char* name : {"lower", "kernels", "tune", "pack", "upload", "graph"}) {
    ASSERT_TRUE(parts.contains(name)) << name;
    EXPECT_GE(parts.at(name), 0) << name;
    sum += parts.at(name);
  }
  EXPECT_EQ(parts.size(), 6u);
  EXPECT_LE(sum, whole);
}

TEST_F(GpuSessionTest, OutOfMemoryAtAnyMomentOfALoadIsSaidAndNothingIsKept) {
  for (int calls = 0;; ++calls) {
    fake_.mend();
    fake_.fail("cuMemAlloc_v2", FakeDriver::out_of_memory, calls);
    std::unique_ptr<Session> session;
    const std::string error = error_of([&] { session = load(); }, ErrorKind::out_of_memory);
    if (session) break;
    EXPECT_THAT(error, HasSubstr("out of memory: CUDA_ERROR_OUT_OF_MEMORY"));
    EXPECT_EQ(fake_.taken_bytes(), 0u) << calls;
  }
  EXPECT_EQ(fake_.taken_bytes(), 0u);
}

TEST_F(GpuSessionTest, OutOfMemoryAtRunFailsItsQueryAlone) {
  const auto session = load();
  const Samples samples(6, false);
  session->stage(samples.views);
  fake_.fail("cuGraphLaunch", FakeDriver::out_of_memory);
  session->enqueue(0, std::vector<uint32_t>{1}, 1);
  session->drain();
  EXPECT_THAT(error_, HasSubstr("out of memory: "));
  fake_.mend();
  session->enqueue(0, std::vector<uint32_t>{1}, 2);
  session->drain();
  EXPECT_EQ(statuses(), (std::vector<Status>{Status::failed, Status::ok}));
}

TEST_F(GpuSessionTest, OfALostDeviceNothingIsAskedAnyMore) {
  const Samples samples(6, false);
  {
    const auto session = launched_and_held(samples);
    fake_.lose("cuGraphLaunch");
    EXPECT_THAT(error_of([&] { session->enqueue(1, std::vector<uint32_t>{2}, 2); }, ErrorKind::device_lost), HasSubstr("device lost: "));
    session->cancel();
    EXPECT_EQ(statuses(), (std::vector<Status>{Status::failed, Status::failed}));
    EXPECT_THROW(session->enqueue(0, std::vector<uint32_t>{1}, 3), Error);
  }
  SUCCEED() << "and it ends without a word";
}

TEST_F(GpuSessionTest, CancellingWaitsForWhatWasLaunched) {
  const Samples samples(6, false);
  const auto session = launched_and_held(samples);
  session->enqueue(1, std::vector<uint32_t>{2}, 2);
  std::thread release([&] { fake_.hold(false); });
  session->cancel();
  release.join();
  EXPECT_EQ(statuses(), (std::vector<Status>{Status::ok, Status::ok}));
}

}  // namespace
}  // namespace deepgap
