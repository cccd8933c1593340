// SavedModels as a Python program leaves them, written here: the operations of a small Graph as TensorFlow's own GraphDef, and a signature.
#include "backends/common/tiny_onnx.h"
#include "backends/common/tiny_rig.h"
#include "backends/tensorflow/tf_backend.h"
#include "backends/tensorflow/tf_objects.h"
#include "backends/tensorflow/tf_scope.h"
#include "base/clocks.h"
#include "base/test_error.h"
#include "model/model_source.h"
#include "model/wire.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

std::string message(uint32_t field, const std::string& content) {
  std::string text;
  WireWriter(text).bytes(field, content);
  return text;
}
std::string number(uint32_t field, int64_t value) {
  std::string text;
  WireWriter(text).integer(field, value);
  return text;
}

// y = x + x + x, of three columns.
std::string graph_def() {
  const TfGraph graph(tf().new_graph());
  TfScope scope(graph.get());
  const TfOutput x = scope.make("Placeholder").type("dtype", TfType::f32).shape("shape", {-1, 3}).out();
  scope.binary("AddV2", scope.binary("AddV2", x, x), x);
  void* library = ::dlopen(TfLibrary::instance().path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto write = reinterpret_cast<void (*)(TfGraphObject*, TfBuffer*, TfStatusObject*)>(::dlsym(library, "TF_GraphToGraphDef"));
  const TfBufferHandle buffer(tf().new_buffer());
  TfStatus status;
  write(graph.get(), buffer.get(), status.get());
  status.check();
  return {static_cast<const char*>(buffer->data), buffer->length};
}

std::string entry(const std::string& key, const std::string& tensor, int64_t columns, int64_t type = 1) {
  const std::string shape = message(2, number(1, -1)) + message(2, number(1, columns));
  return message(1, key) + message(2, message(1, tensor) + number(2, type) + message(3, shape));
}

class SavedModelTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = std::make_unique<TfBackend>();
    } catch (const Error& missing) {
      GTEST_SKIP() << missing.what();
    }
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& input, const std::string& output) const {
    const std::string signature = message(1, input) + message(2, output);
    const std::string meta =
        message(1, message(4, "serve")) + message(2, graph_def()) + message(5, message(1, "serving_default") + message(2, signature));
    std::ofstream(folder_ / "saved_model.pb", std::ios::binary) << number(1, 1) << message(2, meta);
  }
  TinyLoad load(const std::string& signature = "serving_default") const {
    return {.options = {{"package", folder_.string()}, {"signature", signature}}};
  }
  std::string refusal_of(const std::string& signature = "serving_default") const {
    return error_of([&] { TinyRig(*backend_, model_, *clock_, load(signature)); }, ErrorKind::refused);
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("saved_model_" + std::to_string(::getpid()));
  std::unique_ptr<TfBackend> backend_;
  std::unique_ptr<Clock> clock_ = make_real_clock();
  tiny_onnx::TinyModel model_ = tiny_onnx::doubling(false);
};

TEST_F(SavedModelTest, IsRunInsteadOfTheGraph) {
  write(entry("x", "deepgap/Placeholder:0", 3), entry("result", "deepgap/AddV2_1:0", 3));
  TinyRig rig(*backend_, model_, *clock_, load());
  rig.stage({{1, 2, 3}, {4, 5, 6}});
  rig.run(0, {0, 1});
  EXPECT_THAT(rig.floats(0), testing::ElementsAre(3, 6, 9, 12, 15, 18)) << "the Graph would double";
}

TEST_F(SavedModelTest, IsAModelByItself) {
  write(entry("x", "deepgap/Placeholder:0", 3), entry("result", "deepgap/AddV2_1:0", 3));
  const auto model = open_model({.name = folder_.string()});
  TinyRig rig(*backend_, *model, *clock_);
  rig.stage({{1, 2, 3}, {4, 5, 6}});
  rig.run(0, {0, 1});
  EXPECT_THAT(rig.floats(0), testing::ElementsAre(3, 6, 9, 12, 15, 18));
  EngineRequest request;
  request.task = Task::train;
  EXPECT_EQ(backend_->supports(request, model->summary()).reason, "tensorflow: a SavedModel does not train");
}

TEST_F(SavedModelTest, UnknownSignaturesAreNamedWithTheKnownOnes) {
  write(entry("x", "deepgap/Placeholder:0", 3), entry("y", "deepgap/AddV2_1:0", 3));
  EXPECT_THAT(refusal_of("predict"), testing::HasSubstr("has no signature 'predict', only serving_default"));
}

TEST_F(SavedModelTest, InputsThatDoNotFitAreNamed) {
  write(entry("x", "deepgap/Placeholder:0", 5), entry("y", "deepgap/AddV2_1:0", 3));
  EXPECT_THAT(refusal_of(), testing::HasSubstr("takes [-1, 5] for the model's input 'x'"));
  write(entry("x", "deepgap/Placeholder:0", 3, 2), entry("y", "deepgap/AddV2_1:0", 3));
  EXPECT_THAT(refusal_of(), testing::HasSubstr("in another type than the model's float32"));
  write(entry("x", "deepgap/Nothing:0", 3), entry("y", "deepgap/AddV2_1:0", 3));
  EXPECT_THAT(refusal_of(), testing::HasSubstr("names a tensor 'deepgap/Nothing:0' that its graph does not have"));
}

TEST_F(SavedModelTest, FilesThatAreNoneAreOneLine) {
  EXPECT_THAT(error_of([&] {
                backend_->supports(EngineRequest{.options = {{"package", folder_.string()}}}, {});
              }),
              testing::HasSubstr("is not a SavedModel: it has no saved_model.pb"));
  std::ofstream(folder_ / "saved_model.pb") << "this is text";
  EXPECT_THAT(refusal_of(), testing::HasSubstr("does not open SavedModel"));
}

}  // namespace
}  // namespace deepgap
