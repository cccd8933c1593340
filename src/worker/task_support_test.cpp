#include "worker/task_support.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

class InfersAlone : public Backend {
 public:
  std::string name() const override { return "one"; }
  std::string version() const override { return "1"; }
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override { return {}; }
  std::vector<OptionInfo> options() const override { return {}; }
  Support supports(const EngineRequest&, const GraphSummary&) const override { return {}; }
  std::unique_ptr<Session> load(const Model&, const LoadOptions&) override { return nullptr; }
};

class TrainsToo final : public InfersAlone {
 public:
  std::vector<std::string> tasks() const override { return {"infer", "train"}; }
};

TEST(TaskSupport, ATaskThatABackendDoesNotNameIsRefused) {
  EXPECT_TRUE(task_support(InfersAlone(), "infer", {}).ok);
  EXPECT_EQ(task_support(InfersAlone(), "train", {}).reason, "one does not do task train, only infer");
  EXPECT_TRUE(task_support(TrainsToo(), "train", {}).ok);
  EXPECT_EQ(task_support(TrainsToo(), "generate", {}).reason, "one does not do task generate, only infer and train");
}

TEST(TaskSupport, ADecoderOnlyGenerates) {
  GraphSummary decoder;
  decoder.operators = {{decoder_op, decoder_domain, 1, "decoder"}};
  EXPECT_EQ(task_support(TrainsToo(), "infer", decoder).reason, "a decoder generates tokens: measure it with deepgap run --task generate");
  EXPECT_FALSE(task_support(TrainsToo(), "train", decoder).ok);
}

}  // namespace
}  // namespace deepgap
