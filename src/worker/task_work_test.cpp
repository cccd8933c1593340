#include "worker/task_work.h"

#include "model/decoder/decoder.h"

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
  std::vector<Task> tasks() const override { return {Task::infer, Task::train}; }
};

TEST(TaskSupport, ATaskThatABackendDoesNotNameIsRefused) {
  EXPECT_TRUE(task_support(InfersAlone(), Task::infer, {}).ok);
  EXPECT_EQ(task_support(InfersAlone(), Task::train, {}).reason, "one does not do task train, only infer");
  EXPECT_TRUE(task_support(TrainsToo(), Task::train, {}).ok);
  EXPECT_EQ(task_support(TrainsToo(), Task::generate, {}).reason, "one does not do task generate, only infer and train");
}

TEST(TaskSupport, ADecoderOnlyGenerates) {
  GraphSummary decoder;
  decoder.operators = {{decoder_op, decoder_domain, 1, "decoder"}};
  EXPECT_EQ(task_support(TrainsToo(), Task::infer, decoder).reason,
            "a decoder generates tokens: measure it with deepgap run --task generate");
  EXPECT_FALSE(task_support(TrainsToo(), Task::train, decoder).ok);
}

}  // namespace
}  // namespace deepgap
