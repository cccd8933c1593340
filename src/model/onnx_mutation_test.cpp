// Random damage to a good file: a Graph or one Error{input}, never a crash. tests/fuzz does the same for as long as one likes.
#include "model/graph_tools.h"
#include "model/onnx_test_files.h"
#include "model/onnx_writer.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

namespace deepgap {
namespace {

// One to four random bytes changed, inserted or removed.
void mutate(std::string& bytes, std::mt19937_64& random) {
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  const size_t changes = 1 + below(4);
  for (size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const size_t at = below(bytes.size());
    switch (below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.insert(at, 1, static_cast<char>(random()));
        break;
      default:
        bytes.erase(at, 1 + below(8));
        break;
    }
  }
}

// Small, with every kind of part: typed and raw data, attributes of many kinds, a subgraph, integer shape arithmetic.
std::string mutation_seed_file() {
  pb::ModelProto model = conv_model();
  auto* graph = model.mutable_graph();
  auto* w = graph->mutable_initializer(0);
  w->clear_float_data();
  w->set_raw_data(std::string(4 * 27 * sizeof(float), '\1'));
  add_node(graph, "Shape", {"y"}, {"s"}, "shape");
  auto* slice_at = add_attribute(add_node(graph, "Constant", {}, {"zero"}), "value_int", pb::AttributeProto::INT);
  slice_at->set_i(0);
  auto* list = add_attribute(add_node(graph, "Constant", {}, {"rest"}), "value_ints", pb::AttributeProto::INTS);
  list->add_ints(-1), list->add_ints(8), list->add_ints(8);
  add_node(graph, "Gather", {"s", "zero"}, {"n"}, "gather");
  add_attribute(add_node(graph, "Constant", {}, {"axes"}), "value_ints", pb::AttributeProto::INTS)->add_ints(0);
  add_node(graph, "Unsqueeze", {"n", "axes"}, {"n1"});
  add_attribute(add_node(graph, "Concat", {"n1", "rest"}, {"target"}), "axis", pb::AttributeProto::INT)->set_i(0);
  add_node(graph, "Reshape", {"y", "target"}, {"z"}, "reshape");
  add_attribute(add_node(graph, "Softmax", {"z"}, {"p"}), "axis", pb::AttributeProto::INT)->set_i(1);
  auto* branch = add_attribute(add_node(graph, "If", {"p"}, {"q"}), "then_branch", pb::AttributeProto::GRAPH)->mutable_g();
  add_node(branch, "Relu", {"z"}, {"inner"});
  describe_value(branch->add_output(), "inner", {1});
  for (const auto* value : {"z", "p"}) describe_value(graph->add_output(), value, {-1, 4, 8, 8});
  return model.SerializeAsString();
}

TEST(HostileOnnx, RandomMutationsNeverCrash) {
  const uint64_t seed = std::random_device{}();
  const std::string original = mutation_seed_file();
  ASSERT_EQ(input_error([&] { parse_onnx(std::as_bytes(std::span(original)), "t.onnx", ""); }), "");
  std::mt19937_64 random(seed);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string bytes = original;
    mutate(bytes, random);
    try {
      const Graph graph = parse_onnx(std::as_bytes(std::span(bytes)), "t.onnx", "");
      validate(graph);
      summarize(graph);
      write_onnx(graph);
      ++accepted;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::input) << "seed " << seed << ", mutation " << i << ": " << error.what();
      ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "seed " << seed << ", mutation " << i;
      ++refused;
    }
  }
  std::printf("seed %llu: %d accepted, %d refused\n", static_cast<unsigned long long>(seed), accepted, refused);
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace deepgap
