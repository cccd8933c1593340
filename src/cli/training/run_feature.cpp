// Flags of `deepgap run` for task train: the settings of a step, and a file for the weights.
#include "cli/run_feature.h"
#include "base/registry.h"
#include "cli/written_paths.h"

#include <filesystem>
#include <memory>

namespace deepgap {
namespace {

constexpr AxisFlag train_flags[] = {{"--optimizer"}, {"--learning-rate"}, {"--weight-decay"},
                                    {"--loss"},      {"--loss-scale"},    {"--accumulation"}};

class TrainFeature final : public RunFeature {
 public:
  std::span<const AxisFlag> axes() const override { return train_flags; }
  void declare(CLI::App& app, const std::string& /*what*/, const std::string& where) override {
    app.add_option("--save-weights", save_weights_, "Write the weights that task train made to FILE; --weights FILE uses them")
        ->group(where)
        ->type_name("FILE.safetensors");
  }
  void change_settings(RunSettings& settings) const override {
    require_folder_of("--save-weights", save_weights_);
    settings.save_weights = save_weights_.empty() ? "" : std::filesystem::absolute(save_weights_).string();
  }

 private:
  std::string save_weights_;
};

const bool registered = Registry<RunFeature>::instance().add("train", [] { return std::make_unique<TrainFeature>(); });

}  // namespace
}  // namespace deepgap
