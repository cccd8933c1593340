#include "training/train_options.h"

#include "base/rounding.h"

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

constexpr int64_t batch_to_check = 8;
constexpr double most_loss_scale = 16'777'216;

std::optional<double> parse_loss_scale(const std::string& value) {
  return value == "auto" ? 0 : value == "off" ? 1 : parse_number(value, 1, most_loss_scale);
}

// Older Stores say cross_entropy.
std::optional<Loss> parse_loss(const std::string& text) {
  if (text == "cross-entropy" || text == "cross_entropy") return Loss::cross_entropy;
  return text == "mse" ? std::optional(Loss::mse) : std::nullopt;
}

OptionTable<TrainSettings> make_table() {
  using Settings = TrainSettings;
  OptionTable<Settings> table;
  table.choice("optimizer", "training optimizer: sgd, momentum, adam, adamw", &Settings::optimizer,
               {{"sgd", Optimizer::sgd}, {"momentum", Optimizer::momentum}, {"adam", Optimizer::adam}, {"adamw", Optimizer::adamw}});
  table.number("learning_rate", "learning rate for training", &Settings::learning_rate, 0, 1e6).by_default("0.01; adam and adamw: 0.001");
  table.parsed({"loss", "training loss: cross-entropy of the class, or mse", "", false, OptionKind::text, {"cross-entropy", "mse"}}, "",
               &Settings::loss, parse_loss, [](Loss loss) { return loss == Loss::mse ? "mse" : "cross-entropy"; });
  table.number("momentum", "momentum of optimizer momentum", &Settings::momentum, 0, 1);
  table.number("weight_decay", "weight decay for training", &Settings::weight_decay, 0, 1e3).by_default("0; adamw: 0.01");
  table.parsed({"loss_scale",
                "factor on the training loss before the backward pass: auto (as the precision needs it, adapted), off, or a number",
                "auto",
                false,
                OptionKind::number,
                {"auto", "off"}},
               number_range(1, most_loss_scale), &Settings::loss_scale, parse_loss_scale);
  table.count("accumulation", "parts of a training batch whose gradients are added before the update", &Settings::accumulation, 1, 65'536);
  return table;
}

}  // namespace

const OptionTable<TrainSettings>& train_options() {
  static const OptionTable<TrainSettings> table = make_table();
  return table;
}

int64_t checked_batch(const Point& point, const TrainSettings& settings) {
  const int64_t parts = settings.accumulation, wanted = round_up(batch_to_check, parts);
  return std::min(point.batch, wanted);
}

}  // namespace deepgap
