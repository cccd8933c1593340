#include "engine/gpu/float8.h"

#include "engine/passes/test_graphs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace deepgap::gpu {
namespace {

TEST(Float8, IsTheNearestWithTiesToEven) {
  EXPECT_EQ(to_e4m3(1), 0x38);
  EXPECT_EQ(to_e4m3(-1.5F), 0xbc);
  EXPECT_EQ(to_e4m3(1.0625F), 0x38) << "half way: to even";
  EXPECT_EQ(to_e4m3(1.1875F), 0x3a) << "half way: to even";
  EXPECT_EQ(to_e4m3(1.96875F), 0x40) << "up to the next exponent";
  EXPECT_EQ(to_e4m3(448), 0x7e);
  EXPECT_EQ(to_e4m3(1e9F), 0x7e);
  EXPECT_EQ(to_e4m3(-std::numeric_limits<float>::infinity()), 0xfe);
  EXPECT_EQ(to_e4m3(std::ldexp(1.0F, -9)), 0x01) << "the least";
  EXPECT_EQ(to_e4m3(std::ldexp(1.0F, -10)), 0x00);
  EXPECT_EQ(to_e4m3(std::ldexp(7.6F, -9)), 0x08) << "up to what is not denormal";
  EXPECT_EQ(to_e4m3(0), 0x00);
  EXPECT_TRUE(std::isnan(from_e4m3(to_e4m3(std::nanf("")))));
}

TEST(Float8, EveryNumberStaysItself) {
  for (int bits = 0; bits < 256; ++bits) {
    const float value = from_e4m3(static_cast<uint8_t>(bits));
    if (!std::isnan(value)) EXPECT_EQ(to_e4m3(value), bits) << value;
  }
}

std::vector<bool> in_float8(const Graph& graph) {
  std::vector<bool> result;
  for (const Node& node : graph.nodes) result.push_back(multiplies_in_float8(graph, operation_of(graph, node)));
  return result;
}

TEST(Float8, TheLastOfSeveralProductsIsNotInIt) {
  testing::GraphBuilder net;
  const ValueId hidden = net.node("MatMul", {net.input({-1, 32}), net.weights({32, 64})});
  const Graph graph = net.finish({net.node("MatMul", {hidden, net.weights({64, 16})})});
  EXPECT_EQ(in_float8(graph), (std::vector<bool>{true, false}));
}

TEST(Float8, AProductThatIsCheckedAloneIsInIt) {
  testing::GraphBuilder net;
  const ValueId first = net.node("MatMul", {net.input({-1, 32}, "x"), net.weights({32, 64})});
  const ValueId second = net.node("MatMul", {net.input({-1, 64}, "y"), net.weights({64, 16})});
  const Graph graph = net.finish({first, second});
  EXPECT_EQ(in_float8(graph), (std::vector<bool>{true, true}));
}

}  // namespace
}  // namespace deepgap::gpu
