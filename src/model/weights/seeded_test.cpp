#include "model/weights/seeded.h"

#include "base/hash.h"
#include "model/eval/evaluator.h"
#include "model/eval/half.h"
#include "model/eval/kernels.h"
#include "model/eval/parallel.h"
#include "model/graph_tools.h"
#include "model/integer_values.h"
#include "model/weights/seeded_cache.h"
#include "model/zoo/zoo.h"
#include "stats/philox.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace deepgap {
namespace {

Graph build(const std::string& name) {
  ZooOptions options;
  return find_zoo_model(name, options)->build(options);
}

Graph seeded(const std::string& name, uint64_t seed = 1, const std::string& cache = "") {
  Graph graph = build(name);
  seed_weights(graph, seed, cache);
  return graph;
}

// Pictures 0, 1, ... as the seeded Dataset gives them.
Tensor smooth_batch(const Graph& graph, int64_t batch, uint64_t seed = 1) {
  const int64_t side = (*graph.values[graph.inputs[0]].dims)[2].size, each = 3 * side * side;
  Tensor x = make_tensor(DataType::f32, {batch, 3, side, side});
  for (int64_t n = 0; n < batch; ++n) fill_smooth(writable<float>(x).subspan(n * each, each), 3, side, side, seed, n);
  return x;
}

double sqnr_db(std::span<const float> reference, std::span<const float> got) {
  double power = 0, error = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    power += static_cast<double>(reference[i]) * reference[i];
    error += std::pow(static_cast<double>(reference[i]) - got[i], 2);
  }
  return 10 * std::log10(power / error);
}

// Samples 0, 1, ... of any network: pictures, or whole numbers as its inputs hold them.
std::vector<Tensor> samples(const Graph& graph, int64_t batch) {
  const auto integers = integer_values(graph);
  if (integers.empty()) return {smooth_batch(graph, batch)};
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[id];
    inputs.push_back(make_tensor(value.type, {batch, (*value.dims)[1].size}));
    uint64_t block = 0;
    for (int64_t& element : writable<int64_t>(inputs.back()))
      element = integers.at(value.name).number(philox_block(5, stream_of(value.name), block++)[0]);
  }
  return inputs;
}

// The best answer that does not look at its input: each output's mean.
std::vector<float> best_constant(const Tensor& y) {
  const auto values = y.as<float>();
  const int64_t rows = y.shape[0], columns = element_count(y.shape) / rows;
  std::vector<float> constant(values.size());
  for (int64_t c = 0; c < columns; ++c) {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += values[r * columns + c];
    for (int64_t r = 0; r < rows; ++r) constant[r * columns + c] = static_cast<float>(sum / static_cast<double>(rows));
  }
  return constant;
}

Tensor rounded_to_bfloat16(const Tensor& x) {
  Tensor y = make_tensor(DataType::f32, x.shape);
  std::ranges::transform(x.as<float>(), writable<float>(y).begin(), [](float v) { return to_float(to_bfloat16(v)); });
  return y;
}

Graph with_bfloat16_weights(Graph graph) {
  for (auto& [id, tensor] : graph.constants)
    if (tensor.shape.size() >= 2) tensor = rounded_to_bfloat16(tensor);
  return graph;
}

std::string hash_of(const Tensor& tensor) { return content_hash(std::span(tensor.data.get(), tensor.bytes())); }

TEST(SeededValues, NormalStreamsAreTheSameEverywhere) {
  std::vector<float> values(10'001);
  fill_normal(values, 1, "conv1.weight");
  EXPECT_EQ(content_hash(std::as_bytes(std::span(values))), "b13bb9f020f09e495e521af5158dfa10");
  std::vector<float> start(7), other(7);
  fill_normal(start, 1, "conv1.weight");
  EXPECT_TRUE(std::equal(start.begin(), start.end(), values.begin()));
  fill_normal(other, 2, "conv1.weight");
  EXPECT_NE(start, other);
  fill_normal(other, 1, "conv2.weight");
  EXPECT_NE(start, other);
}

TEST(SeededValues, NormalMoments) {
  std::vector<float> values(1 << 20);
  fill_normal(values, 3, "moments");
  double sum = 0, squares = 0, fourth = 0;
  for (double v : values) sum += v, squares += v * v, fourth += v * v * v * v;
  const double n = static_cast<double>(values.size());
  // Five standard errors of each moment.
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96 / n));
}

TEST(SeededValues, SmoothPictures) {
  std::vector<float> picture(3 * 64 * 48), other(picture.size());
  fill_smooth(picture, 3, 64, 48, 1, 0);
  fill_smooth(other, 3, 64, 48, 1, 1);
  EXPECT_EQ(content_hash(std::as_bytes(std::span(picture))), "d4b682ece1817fe24e5612dd33bb9c42");
  EXPECT_NE(picture, other);
  double step = 0, squares = 0;
  for (size_t i = 0; i + 1 < picture.size(); ++i) {
    EXPECT_LE(std::fabs(picture[i]), 1.0f);
    squares += picture[i] * picture[i];
    if (i % 48 != 47) step += std::pow(picture[i + 1] - picture[i], 2);
  }
  EXPECT_GT(std::sqrt(squares / static_cast<double>(picture.size())), 0.1);
  EXPECT_LT(step / squares, 0.05);  // neighbours are alike
}

// A width that eight does not divide, as bits that were computed one number at a time.
TEST(SeededValues, SmoothPicturesOfOddWidth) {
  std::vector<float> picture(3 * 7 * 13);
  fill_smooth(picture, 3, 7, 13, 1, 0);
  EXPECT_EQ(content_hash(std::as_bytes(std::span(picture))), "9b8ff9d91248352b44c570fe1c90ed2c");
}

TEST(SeededWeights, GainsOfBranchEndsOnly) {
  const std::map<std::string, size_t> blocks{
      {"resnet18:width=0.25", 8}, {"resnet50:width=0.25", 16}, {"mobilenet_v2:width=1", 10}, {"efficientnet_lite0:width=1", 9}};
  for (const auto& [name, count] : blocks) {
    const Graph graph = seeded(name + ",image=32,classes=4");
    size_t small = 0;
    for (const auto& [id, tensor] : graph.constants) {
      const std::string& constant = graph.values[id].name;
      if (!constant.ends_with(".weight") || tensor.shape.size() != 1) continue;
      const float gain = tensor.as<float>()[0];
      EXPECT_TRUE(gain == 1.0f || gain == 0.1f) << constant;
      small += gain == 0.1f;
      if (name.starts_with("resnet50")) {
        EXPECT_EQ(gain == 0.1f, constant.ends_with(".bn3.weight")) << constant;
      }
    }
    EXPECT_EQ(small, count) << name;
  }
}

TEST(SeededWeights, HeNormal) {
  const Graph graph = seeded("resnet18:image=32,classes=500");
  for (const auto& [id, tensor] : graph.constants) {
    const std::string& name = graph.values[id].name;
    if (name != "layer3.1.conv2.weight" && name != "fc.weight") continue;
    const double fan_in = name == "fc.weight" ? 512 : 256 * 9;
    double squares = 0;
    for (float v : tensor.as<float>()) squares += static_cast<double>(v) * v;
    EXPECT_NEAR(squares / static_cast<double>(tensor.as<float>().size()) * fan_in, 2, 0.03) << name;
  }
}

TEST(SeededWeights, NormalisedWhereTheyWereMeasured) {
  // On fresh pictures the statistics hold about: means near 0, variances near 1.
  const Graph graph = seeded("resnet18:width=0.5,image=64");
  std::map<ValueId, const Node*> makers;
  for (const Node& node : graph.nodes) makers[node.outputs[0]] = &node;
  const Tensor x = smooth_batch(graph, 16);
  evaluate(graph, std::span(&x, 1), [&](ValueId id, const Tensor& y) {
    if (!makers.count(id) || makers[id]->name != "layer1.0.bn1") return;
    double sum = 0, squares = 0;
    for (double v : y.as<float>()) sum += v, squares += v * v;
    const double n = static_cast<double>(y.as<float>().size());
    EXPECT_NEAR(sum / n, 0, 0.3);
    EXPECT_NEAR(squares / n, 1, 0.6);
  });
}

struct Discrimination {
  double constant_db, bfloat16_db;
};
Discrimination discriminate(const std::string& name) {
  const Graph graph = seeded(name);
  const std::vector<Tensor> x = samples(graph, 8);
  const std::vector<Tensor> right = evaluate(graph, x), rough = evaluate(with_bfloat16_weights(graph), x);
  Discrimination result{1000, 1000};  // the worst output's, which a check reports
  for (size_t i = 0; i < right.size(); ++i) {
    if (right[i].type != DataType::f32) continue;
    const auto y = right[i].as<float>();
    EXPECT_TRUE(std::ranges::all_of(y, [](float v) { return std::isfinite(v); })) << name;
    result.constant_db = std::min(result.constant_db, sqnr_db(y, best_constant(right[i])));
    result.bfloat16_db = std::min(result.bfloat16_db, sqnr_db(y, rough[i].as<float>()));
  }
  fmt::print("{}: constant answer {:.2f} dB, BF16 weights {:.1f} dB\n", name, result.constant_db, result.bfloat16_db);
  return result;
}

TEST(SeededWeights, AConstantAnswerIsFoundOut) {
  for (const char* name : {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"}) {
    const Discrimination result = discriminate(std::string(name) + ":width=0.25,image=64,classes=100");
    EXPECT_LE(result.constant_db, 3) << name;
    EXPECT_GE(result.bfloat16_db, 25) << name;
  }
  for (const char* name : {"mobilenet_v2", "efficientnet_lite0"}) {
    const Discrimination result = discriminate(std::string(name) + ":image=64");
    EXPECT_LE(result.constant_db, 3) << name;
    EXPECT_GE(result.bfloat16_db, 10) << name;  // near to chaotic: compared node by node below
  }
}

TEST(SeededWeights, AConstantAnswerIsFoundOutInEveryFamily) {
  for (const char* name :
       {"vgg16:width=0.25,image=64", "densenet121:width=0.5,image=64", "mobilenet_v1:image=64", "mobilenet_v3_large:image=64",
        "mobilenet_v3_small:image=64", "shufflenet_v2:image=64", "inception_v3:width=0.25,image=107", "vit_b_16:width=0.25,image=64",
        "vit_b_32:width=0.25,image=96", "bert_base:width=0.25,sequence=16", "bert_large:width=0.25,sequence=8"}) {
    const Discrimination result = discriminate(name);
    EXPECT_LE(result.constant_db, 3) << name;
    EXPECT_GE(result.bfloat16_db, 10) << name;
  }
}

// Detectors: which of two boxes is kept hangs on last digits, so rounded weights say nothing here.
TEST(SeededWeights, AConstantAnswerOfADetectorIsFoundOut) {
  for (const char* name : {"ssd_mobilenet_v1:image=160", "ssd_resnet34:width=0.25,image=400"})
    EXPECT_LE(discriminate(name).constant_db, 3) << name;
}

TEST(SeededWeights, AConstantAnswerIsFoundOutAtFullSize) {
  if (!std::getenv("DEEPGAP_LONG_TESTS")) GTEST_SKIP() << "all networks at full size take some minutes: set DEEPGAP_LONG_TESTS=1";
  for (const char* name : {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"}) {
    const Discrimination result = discriminate(name);
    EXPECT_LE(result.constant_db, 3) << name;
    EXPECT_GE(result.bfloat16_db, 25) << name;
  }
  for (const char* name :
       {"mobilenet_v2", "efficientnet_lite0", "vgg16", "densenet121", "mobilenet_v1", "mobilenet_v3_large", "mobilenet_v3_small",
        "shufflenet_v2", "inception_v3", "vit_b_16", "vit_b_32", "bert_base:sequence=128", "bert_large:sequence=64"})
    EXPECT_LE(discriminate(name).constant_db, 3) << name;
}

// A network near to chaos shows node by node what it hides in its outputs, each node run on the reference's inputs.
TEST(SeededWeights, NodeByNodeEveryLayerTellsRightFromWrong) {
  for (const char* name : {"mobilenet_v2:image=64", "efficientnet_lite0:image=64"}) {
    const Graph graph = seeded(name), rough = with_bfloat16_weights(graph);
    const Tensor x = smooth_batch(graph, 2);
    std::vector<Tensor> reference(graph.values.size());
    for (const auto& [id, tensor] : rough.constants) reference[id] = tensor;
    evaluate(graph, std::span(&x, 1), [&](ValueId id, const Tensor& value) { reference[id] = value; });
    for (const Node& node : rough.nodes) {
      std::vector<Tensor> inputs;
      for (ValueId id : node.inputs) inputs.push_back(reference[id]);
      const Tensor got = evaluate_node(rough, node, inputs)[0];
      const Tensor& expected = reference[node.outputs[0]];
      if (hash_of(got) == hash_of(expected)) continue;
      EXPECT_GE(sqnr_db(expected.as<float>(), got.as<float>()), 35) << name << " " << node.name;
    }
  }
}

TEST(SeededWeights, SameBitsEverywhere) {
  const std::string name = "resnet18:width=0.25,image=32,classes=10";
  for (size_t kernels = 0; kernels < supported_kernels().size(); ++kernels) {
    choose_kernels(kernels);
    set_evaluator_threads(static_cast<int>(kernels) + 1);
    const Graph graph = seeded(name);
    const Tensor x = smooth_batch(graph, 2);
    EXPECT_EQ(hash_of(evaluate(graph, std::span(&x, 1))[0]), "734afa59ee12c6ca7fd0f5c331d98e13") << supported_kernels()[kernels].name;
  }
  choose_kernels(0);
  set_evaluator_threads(0);
}

TEST(SeededWeights, GivenWeightsStay) {
  Graph graph = build("resnet18:width=0.25,image=32,classes=10");
  ValueId given = no_value;
  for (auto& [id, tensor] : graph.constants)
    if (graph.values[id].name == "layer1.0.conv1.weight") given = id;
  Tensor weight = make_tensor(DataType::f32, graph.constants[given].shape);
  std::ranges::fill(writable<float>(weight), 0.25f);
  graph.constants[given] = weight;
  seed_weights(graph, 1, "");
  EXPECT_EQ(graph.constants[given].data, weight.data);
}

TEST(SeededWeights, OpenSizesAreNamed) {
  Graph graph = build("resnet18:width=0.25,image=32");
  (*graph.values[graph.inputs[0]].dims)[2] = {1, "H"};
  EXPECT_THROW(seed_weights(graph, 1, ""), Error);
}

class SeededCacheTest : public testing::Test {
 protected:
  SeededCacheTest() : folder_(testing::TempDir() + "seeded-" + random_id()) {}
  ~SeededCacheTest() override { std::filesystem::remove_all(folder_); }
  static std::string output_hash(const Graph& graph) {
    const Tensor x = smooth_batch(graph, 1);
    return hash_of(evaluate(graph, std::span(&x, 1))[0]);
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }
  const std::string name_ = "resnet18:width=0.25,image=32,classes=10";
  const std::string folder_;
};

TEST_F(SeededCacheTest, GivesTheSameWeights) {
  const std::string expected = output_hash(seeded(name_));
  EXPECT_EQ(output_hash(seeded(name_, 1, folder_)), expected);
  ASSERT_EQ(files().size(), 1u);
  const auto written = std::filesystem::last_write_time(files()[0]);
  EXPECT_EQ(output_hash(seeded(name_, 1, folder_)), expected);
  EXPECT_EQ(std::filesystem::last_write_time(files()[0]), written);
  EXPECT_NE(output_hash(seeded(name_, 2, folder_)), expected);
  seeded("resnet18:width=0.25,image=48,classes=10", 1, folder_);  // other pictures, other statistics
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(SeededCacheTest, ADamagedFileIsReplaced) {
  const std::string expected = output_hash(seeded(name_, 1, folder_));
  const auto path = files().at(0);
  for (const size_t size : {size_t{0}, size_t{5}, std::filesystem::file_size(path) - 1}) {
    std::filesystem::resize_file(path, size);
    EXPECT_EQ(output_hash(seeded(name_, 1, folder_)), expected);
    EXPECT_GT(std::filesystem::file_size(path), size);
  }
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(SeededCacheTest, AnotherUsersFileIsNotTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's file";
  const std::string expected = output_hash(seeded(name_, 1, folder_));
  const auto written = std::filesystem::last_write_time(files().at(0));
  ASSERT_EQ(::chown(files()[0].c_str(), 12345, 12345), 0);
  EXPECT_EQ(output_hash(seeded(name_, 1, folder_)), expected);
  EXPECT_NE(std::filesystem::last_write_time(files().at(0)), written) << "made again and replaced";
}

TEST_F(SeededCacheTest, ManyAtOnce) {
  const std::string expected = output_hash(seeded(name_));
  std::vector<std::string> got(6);
  {
    std::vector<std::jthread> threads;
    for (std::string& hash : got) threads.emplace_back([&] { hash = output_hash(seeded(name_, 1, folder_)); });
  }
  for (const std::string& hash : got) EXPECT_EQ(hash, expected);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(SeededCacheTest, AFolderThatCannotBeWrittenCostsOnlyTime) {
  std::ofstream(folder_) << "a file where the folder should be";
  EXPECT_EQ(output_hash(seeded(name_, 1, folder_ + "/below")), output_hash(seeded(name_)));
}

}  // namespace
}  // namespace deepgap
