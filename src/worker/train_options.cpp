#include "worker/train_options.h"

#include "base/rounding.h"
#include "base/text.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "worker/dispatch_options.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

constexpr int64_t batch_to_check = 8;

template <typename Word>
Word word_of(const std::string& name, const std::string& value, const std::vector<std::pair<std::string, Word>>& words) {
  std::vector<std::string> known;
  for (const auto& [word, meaning] : words) {
    if (word == value) return meaning;
    known.push_back(word);
  }
  throw Error(ErrorKind::usage, unknown_name(name, value, known));
}

double number_of(const std::string& name, const std::string& value, double least, double most) {
  const auto number = parse_double(value);
  if (!number || !std::isfinite(*number) || *number < least || *number > most)
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{1}' for {0}: expected a number from {2:g} to {3:g}", name, value, least, most));
  return *number;
}

std::string hyphened(std::string word) {
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

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

double loss_scale(const std::string& value) {
  if (value == "auto") return 0;
  if (value == "off") return 1;
  const auto number = parse_double(value);
  if (!number || *number < 1 || *number > 16'777'216)
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for loss_scale: expected auto, off, or a number from 1 to 16777216", value));
  return *number;
}

}  // namespace

bool trains(const Point& point) { return point.task == "train"; }

std::vector<OptionInfo> train_option_infos() {
  return {
      {"optimizer", "training optimizer: sgd, momentum, adam, adamw", "momentum"},
      {"learning_rate", "learning rate for training", "0.01; adam and adamw: 0.001"},
      {"loss", "training loss: cross-entropy of the class, or mse", "cross-entropy"},
      {"momentum", "momentum of optimizer momentum", "0.9"},
      {"weight_decay", "weight decay for training", "0; adamw: 0.01"},
      {"loss_scale", "factor on the training loss before the backward pass: auto (as the precision needs it, adapted), off, or a number",
       "auto"},
      {"accumulation", "parts of a training batch whose gradients are added before the update", "1"},
  };
}

bool set_train_option(TrainSettings& settings, const std::string& name, const std::string& value) {
  if (name == "optimizer") {
    settings.optimizer = word_of<Optimizer>(
        name, value, {{"sgd", Optimizer::sgd}, {"momentum", Optimizer::momentum}, {"adam", Optimizer::adam}, {"adamw", Optimizer::adamw}});
  } else if (name == "loss") {
    settings.loss = word_of<Loss>(name, hyphened(value), {{"cross-entropy", Loss::cross_entropy}, {"mse", Loss::mse}});
  } else if (name == "learning_rate") {
    settings.learning_rate = number_of(name, value, 0, 1e6);
  } else if (name == "momentum") {
    settings.momentum = number_of(name, value, 0, 1);
  } else if (name == "weight_decay") {
    settings.weight_decay = number_of(name, value, 0, 1e3);
  } else if (name == "loss_scale") {
    settings.loss_scale = loss_scale(value);
  } else if (name == "accumulation") {
    settings.accumulation = static_cast<int64_t>(number_of(name, value, 1, 65'536));
    if (std::to_string(settings.accumulation) != value)
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for accumulation: expected a whole number", value));
  } else {
    return false;
  }
  return true;
}

void require_train_options(const Point& point) {
  if (!trains(point)) {
    for (const OptionInfo& option : train_option_infos())
      if (point.options.contains(option.name))
        throw Error(ErrorKind::usage, fmt::format("{} applies to training: add --task train, or leave it out", option.name));
    return;
  }
  if (scenario_traits(point.scenario).unit != "batch")
    throw Error(ErrorKind::usage, fmt::format("training runs scenario batch, one step after the other; leave out {}", point.scenario));
  require_ranks(point.placement);
  for (const char* option : {"mlperf", "tenants", "peak", "bound", "end_to_end"})
    if (const std::string value = option_of(point, option, "off"); value != "off")
      throw Error(ErrorKind::usage, fmt::format("{} does not apply to task train: leave it out", option));
  for (const OptionInfo& option : dispatch_option_infos())
    if (point.options.contains(option.name))
      throw Error(ErrorKind::usage,
                  fmt::format("{} spreads queries over sessions, which training does not have: leave it out", option.name));
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
