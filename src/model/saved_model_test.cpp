#include "model/saved_model.h"

#include "base/test_error.h"
#include "model/model_source.h"
#include "model/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

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
std::string port(const std::string& key, const std::vector<int64_t>& shape, int64_t type = 1) {
  std::string sizes;
  for (const int64_t size : shape) sizes += message(2, number(1, size));
  return message(1, key) + message(2, message(1, key + ":0") + number(2, type) + message(3, sizes));
}
std::string signature(const std::string& name, const std::string& input, const std::string& output) {
  return message(5, message(1, name) + message(2, message(1, input) + message(2, output)));
}

class SavedModelFile : public testing::Test {
 protected:
  SavedModelFile() { fs::create_directories(folder_); }
  ~SavedModelFile() override { fs::remove_all(folder_); }
  void write(const std::string& signatures, const std::string& tag = "serve") const {
    std::ofstream(folder_ / "saved_model.pb", std::ios::binary) << number(1, 1) << message(2, message(1, message(4, tag)) + signatures);
  }
  std::string refusal(ErrorKind kind, const std::string& more = "") const {
    return error_of([&] { open_model({.name = folder_.string() + more}); }, kind);
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("saved_model_file_" + std::to_string(::getpid()));
};

TEST_F(SavedModelFile, IsAModelOfItsSignature) {
  write(signature("serving_default", port("image", {-1, 8, 8, 3}), port("scores", {-1, 10})));
  const auto model = open_model({.name = folder_.string()});
  const Graph& graph = model->graph();
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].domain + "." + graph.nodes[0].op, "tensorflow.SavedModel");
  EXPECT_EQ(graph.values[0].name, "image");
  EXPECT_EQ(graph.values[0].dims, (Dims{{1, batch_symbol}, {8, ""}, {8, ""}, {3, ""}}));
  EXPECT_EQ(graph.values[1].dims, (Dims{{1, batch_symbol}, {10, ""}}));
  EXPECT_EQ(model->file(), folder_.string());
}

TEST_F(SavedModelFile, AnotherSignatureIsNamedBehindTheFolder) {
  write(signature("one", port("x", {-1, 3}), port("y", {-1, 3})) + signature("two", port("x", {-1, 5}), port("y", {-1, 5})));
  EXPECT_EQ(open_model({.name = folder_.string() + ":signature=two"})->graph().values[0].dims, (Dims{{1, batch_symbol}, {5, ""}}));
  EXPECT_THAT(refusal(ErrorKind::usage), HasSubstr("it has no signature 'serving_default', only one, two: choose one as "));
  EXPECT_THAT(refusal(ErrorKind::usage, ":signature=three"), HasSubstr("it has no signature 'three', only one, two"));
}

TEST_F(SavedModelFile, TheOnlySignatureNeedsNoName) {
  write(signature("predict", port("x", {2, 3}), port("y", {2})));
  EXPECT_EQ(open_model({.name = folder_.string()})->graph().values[0].dims, (Dims{{2, ""}, {3, ""}}));
}

TEST_F(SavedModelFile, OpenSizesAreAskedFor) {
  write(signature("serving_default", port("x", {-1, -1}), port("y", {-1})));
  EXPECT_THAT(refusal(ErrorKind::usage), HasSubstr("is open"));
}

TEST_F(SavedModelFile, WhatItDoesNotHaveIsOneLine) {
  write("");
  EXPECT_THAT(refusal(ErrorKind::usage), HasSubstr("it has no signatures"));
  write(signature("serving_default", port("x", {-1, 3}), port("y", {-1, 3})), "train");
  EXPECT_THAT(refusal(ErrorKind::input), HasSubstr("it is not a SavedModel with the tag 'serve'"));
  write(signature("serving_default", port("text", {-1}, 7), port("y", {-1})));
  EXPECT_THAT(refusal(ErrorKind::refused), HasSubstr("input 'text' is of a type that deepgap does not have"));
  std::ofstream(folder_ / "saved_model.pb") << "this is text";
  EXPECT_THAT(refusal(ErrorKind::input), HasSubstr("it is not a SavedModel"));
}

}  // namespace
}  // namespace deepgap
