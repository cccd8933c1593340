#include "worker/train_options.h"

#include "base/rounding.h"
#include "record/load_axis.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

constexpr int64_t batch_to_check = 8;
constexpr double most_loss_scale = 16'777'216;

// Several processes train on the CPU that they share, or on a GPU each.
void require_ranks(const Placement& placement) {
  const std::vector<DeviceId>& devices = placement.devices;
  const auto processes = static_cast<size_t>(placement.processes);
  for (const DeviceId& device : devices) {
    if (device.kind != devices.front().kind)
      throw Error(ErrorKind::usage,
                  fmt::format("processes that train together need equal devices, not {} and {}", devices.front().kind, device.kind));
    if (std::count(devices.begin(), devices.end(), device) > 1)
      throw Error(ErrorKind::usage,
                  fmt::format("{}:{} is named twice: each process trains on a device of its own", device.kind, device.index));
  }
  const bool shared = devices.size() == 1 && (processes == 1 || devices.front().kind == "cpu");
  if (shared || devices.size() == processes) return;
  if (devices.size() == 1)
    throw Error(ErrorKind::usage, fmt::format("each process trains on a device of its own: name {} devices, as in {}:0+{}:1", processes,
                                              devices.front().kind, devices.front().kind));
  throw Error(ErrorKind::usage,
              fmt::format("training on {} devices takes a process for each: --processes {}", devices.size(), devices.size()));
}

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

bool trains(const Point& point) { return point.task == "train"; }

const OptionTable<TrainSettings>& train_options() {
  static const OptionTable<TrainSettings> table = make_table();
  return table;
}

void require_training(const Point& point) {
  if (!trains(point)) return;
  if (scenario_traits(point.scenario).unit != "batch")
    throw Error(ErrorKind::usage, fmt::format("training runs scenario batch, one step after the other; leave out {}", point.scenario));
  require_ranks(point.placement);
}

int64_t train_samples(const Point& point) {
  constexpr int64_t epoch = 256;  // as of the study on training intensity (studies/training-intensity.toml)
  const int64_t batch = std::max<int64_t>(point.batch, 1);
  return std::clamp<int64_t>(4 * batch, batch, std::max(batch, epoch));
}

int64_t checked_batch(const Point& point, const TrainSettings& settings) {
  const int64_t parts = settings.accumulation, wanted = round_up(batch_to_check, parts);
  return std::min(point.batch, wanted);
}

std::vector<int64_t> train_batch_sizes(const Point& point, const TrainSettings& settings) {
  const int64_t checked = checked_batch(point, settings);
  return checked == point.batch ? std::vector{checked} : std::vector{checked, point.batch};
}

}  // namespace deepgap
