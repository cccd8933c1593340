// Products in FP8, where an engine has them: each factor has three bits of fraction, so a layer keeps some 25 dB.
#include "rig.h"
#include "tolerance.h"
#include "transformer_layer.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

namespace deepgap::conformance {
namespace {

TEST(Float8, ATransformersLayerIsTheSame) {
  Random random(seed());
  GraphBuilder net(random, 21);
  const GraphModel model(transformer_layer(net));
  if (const Support support = supports("fp8", model.summary()); !support.ok)
    GTEST_SKIP() << backend().name() << " does not run fp8: " << support.reason;
  const Samples samples = random_samples(random, model.graph(), 3);
  std::unique_ptr<Rig> held;
  try {
    held = std::make_unique<Rig>(model, std::vector<int64_t>{1, 3}, 1, 2, "fp8");
  } catch (const Error& error) {  // a chip without them
    if (error.kind() != ErrorKind::refused) throw;
    GTEST_SKIP() << error.what();
  }
  Rig& rig = *held;
  rig.stage(samples);
  for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{2, 0, 1}, {1}}) {
    ASSERT_EQ(rig.run(0, chosen), Status::ok) << rig.last_error();
    const Difference wrong = same_network(20)(reference(model.graph(), samples, chosen), rig.session->outputs(0));
    EXPECT_TRUE(wrong.none()) << fmt::format("batch {}: {}", chosen.size(), wrong.words);
  }
}

}  // namespace
}  // namespace deepgap::conformance
