// Whole networks: random ones, made of what engines fuse, and the zoo's at a fraction of their width and picture size.
#include "blame.h"
#include "random_network.h"
#include "rig.h"
#include "tolerance.h"

#include "model/graph_tools.h"
#include "model/weights/seeded.h"
#include "model/zoo/zoo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deepgap::conformance {
namespace {

// Returns the engine's fault that explains a difference.
std::string expect_right(const GraphModel& model, Random& random, const std::vector<int64_t>& batches, const std::string& precision,
                         const Judge& judge) {
  SCOPED_TRACE(fmt::format("--seed {} precision {}", seed(), precision));
  const Samples samples = random_samples(random, model.graph(), 3);
  Rig rig(model, batches, 1, 1, precision);
  rig.stage(samples);
  for (const int64_t batch : batches) {
    std::vector<uint32_t> chosen;
    for (int64_t i = 0; i < batch; ++i) chosen.push_back(static_cast<uint32_t>((i + 1) % 3));
    const Status status = rig.run(0, chosen);
    const std::vector<Tensor> expected = reference(model.graph(), samples, chosen);
    const Difference wrong =
        status == Status::ok ? judge(expected, rig.session->outputs(0)) : Difference{Difference::Kind::failure, rig.last_error()};
    SCOPED_TRACE(fmt::format("batch {}", batch));
    if (!wrong.none()) return blame(wrong, expected, judge);
  }
  return "";
}

// Seeded networks as deep as the zoo's make much of little: what a single operator loses by rounding says nothing of their outputs, and no
// more can be asked than that it is the same network.
TEST(Networks, RandomOnesEqualTheEvaluator) {
  std::string skipped;  // forgiven; the others are right
  for (const std::string& precision : float_precisions({})) {
    const int count = precision == "fp32" ? 5 * rounds() : rounds();
    for (int round = 0; round < count; ++round) {
      Random random(seed() * 7919 + static_cast<uint64_t>(round));
      SCOPED_TRACE(fmt::format("round {}", round));
      const GraphModel model(random_network(random));
      const std::string fault = expect_right(model, random, {1, 3}, precision, within_tolerance(precision));
      if (HasFailure()) return;
      if (!fault.empty()) skipped = fault;
    }
  }
  if (!skipped.empty()) GTEST_SKIP() << skipped;
}

// The outputs of two unrelated networks are at -3 dB to each other. By rounding alone, one MobileNet among 80 seeds of each of these
// networks is at 5.1 dB, and another was seen at 5.9.
constexpr double of_chaotic = 3;

class ZooNetworks : public testing::TestWithParam<std::string> {};

TEST_P(ZooNetworks, EqualTheEvaluator) {
  ZooOptions options;
  const auto zoo = find_zoo_model(GetParam(), options);
  ASSERT_NE(zoo, nullptr);
  Graph graph = zoo->build(options);
  seed_weights(graph, seed(), "");
  const GraphModel model(std::move(graph));
  std::string skipped;
  for (const std::string& precision : float_precisions(model.summary())) {
    Random random(seed());
    const std::string fault =
        expect_right(model, random, {1, 2}, precision,
                     precision == "fp32" ? within_tolerance(precision) : same_network(zoo->is_chaotic() ? of_chaotic : 12));
    if (!fault.empty()) skipped = fault;
  }
  if (!skipped.empty() && !HasFailure()) GTEST_SKIP() << skipped;
}

INSTANTIATE_TEST_SUITE_P(Small, ZooNetworks,
                         testing::Values("resnet18:width=0.25,classes=10,image=64", "resnet50:width=0.125,classes=10,image=64",
                                         "mobilenet_v2:width=0.25,classes=10,image=64", "efficientnet_lite0:width=0.25,classes=10,image=64",
                                         "vgg16:width=0.125,classes=10,image=64", "densenet121:width=0.25,classes=10,image=64",
                                         "inception_v3:width=0.125,classes=10,image=96", "mobilenet_v1:width=0.25,classes=10,image=64",
                                         "mobilenet_v3_small:width=0.25,classes=10,image=64",
                                         "shufflenet_v2:width=0.25,classes=10,image=64", "vit_b_32:width=0.1,classes=10,image=64"),
                         [](const auto& one) { return one.param.substr(0, one.param.find(':')); });

}  // namespace
}  // namespace deepgap::conformance
