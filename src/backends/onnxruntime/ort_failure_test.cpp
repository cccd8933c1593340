#include "backends/onnxruntime/ort_failure.h"
#include "backends/onnxruntime/ort_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace deepgap {
namespace {

using testing::HasSubstr;

TEST(OrtFailure, MessageIsOneShortLineWithoutSourcePaths) {
  EXPECT_EQ(short_message("  two\nlines "), "two lines");
  EXPECT_EQ(short_message("/src/onnxruntime/core/x.cc:12 void f(int) a == b was false. Sizes differ"), "Sizes differ");
  EXPECT_EQ(short_message(std::string(1000, 'x')).size(), 303u);
}

TEST(OrtFailure, OfALaterOpsetTheNumbersAreKept) {
  const std::string said =
      "Load model from /tmp/a.onnx failed:/onnxruntime_src/onnxruntime/core/graph/model_load_utils.h:46 void "
      "onnxruntime::model_load_utils::ValidateOpsetForDomain(const std::unordered_map<std::string, int>&, const logging::Logger&, bool, "
      "const std::string&, int) ONNX Runtime only *guarantees* support for models stamped with official released onnx opset versions. "
      "Opset 28 is under development and support for this is limited. The operator schemas and or other functionality may change before "
      "next ONNX release and in this case ONNX Runtime will not guarantee backward compatibility. Current official support for domain "
      "ai.onnx is till opset 23.";
  EXPECT_EQ(short_message(said),
            "Opset 28 is under development and support for this is limited. Current official support for domain ai.onnx is till opset 23.");
}

TEST(OrtFailure, MemoryIsToldApart) {
  const Graph graph;
  EXPECT_EQ(load_error({6, "Failed to allocate memory for requested buffer of size 7"}, graph).kind(), ErrorKind::out_of_memory);
  EXPECT_EQ(load_error({1, "std::bad_alloc"}, graph).kind(), ErrorKind::out_of_memory);
  EXPECT_EQ(load_error({1, "something else"}, graph).kind(), ErrorKind::refused);
  EXPECT_EQ(load_error({ort_invalid_protobuf, "parsing failed"}, graph).kind(), ErrorKind::input);
}

TEST(OrtFailure, WrongSamplesAreNotTheLibrarysFault) {
  const OrtFailure outside{ort_invalid_argument, "indices element out of data bounds, idx=7 must be within the inclusive range [-4,3]"};
  EXPECT_EQ(run_error(outside).kind(), ErrorKind::input);
  EXPECT_EQ(run_error({1, "something else"}).kind(), ErrorKind::refused);
}

TEST(OrtFailure, BlamesTheNodeThatIsNamed) {
  Graph graph;
  graph.nodes = {{"a", "Conv", "", {}, {}, {}}, {"b", "ConvTranspose", "", {}, {}, {}}, {"c", "ConvTranspose", "", {}, {}, {}}};
  const OrtFailure named{ort_not_implemented, "Could not find an implementation for ConvTranspose(11) node with name 'c'"};
  EXPECT_THAT(load_error(named, graph).what(), HasSubstr("'ConvTranspose' with these types (node 'c')"));
  const OrtFailure unnamed{ort_not_implemented, "Could not find an implementation for ConvTranspose(11)"};
  EXPECT_THAT(load_error(unnamed, graph).what(), HasSubstr("(node 'b')"));
}

TEST(OrtSettings, PoolThreadsArePinnedBehindTheCaller) {
  EXPECT_EQ(affinity_text({0, 1, 4, 5}, 3), "2;5");
  EXPECT_EQ(affinity_text({0, 1}, 1), "");
  EXPECT_EQ(affinity_text({0, 1}, 3), "") << "fewer CPUs than threads: nothing to gain";
}

TEST(OrtLibrary, NamedPlaceIsTheOnlyOne) {
  ::setenv("DEEPGAP_ONNXRUNTIME", "/nowhere", 1);
  try {
    find_ort_library();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_THAT(error.what(), HasSubstr("DEEPGAP_ONNXRUNTIME=/nowhere"));
  }
  ::unsetenv("DEEPGAP_ONNXRUNTIME");
}

}  // namespace
}  // namespace deepgap
