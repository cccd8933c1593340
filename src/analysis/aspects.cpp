#include "analysis/aspects.h"

#include "record/dataset_hash.h"
#include "record/duel_set.h"
#include "record/option_text.h"
#include "record/point_option.h"
#include "record/record_json.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

bool is_cpu(const Point& point) {
  const auto& devices = point.placement.devices;
  return std::all_of(devices.begin(), devices.end(), [](const DeviceId& device) { return device.kind == "cpu"; });
}

std::string hash_words(const char* of, const std::string& hash) {
  constexpr size_t digits = 8;
  return hash.empty() ? std::string() : fmt::format("{} {}", of, hash.substr(0, digits));
}

// "cuda:0+cuda:1", however many processes share them.
std::string devices_of(const PointSummary& point) {
  Placement placement = point.point.placement;
  placement.processes = 1;
  return placement_name(placement);
}

}  // namespace

std::string threads_text(const Point& point) { return std::to_string(point.threads) + (point.threads == 1 ? " thread" : " threads"); }

void DeviceNames::add(const PointSummary& point) {
  const std::string& device = point.identity.device;
  if (device.empty()) return;
  Places& places = placements_[device][point.point.placement.devices.size()];
  places.devices.insert(devices_of(point));
  places.processes.insert(point.point.placement.processes);
  if (is_cpu(point.point)) cpus_.insert(device);
}

std::string DeviceNames::of(const PointSummary& point) const {
  std::string placement = placement_name(point.point.placement);
  const auto placements = placements_.find(point.identity.device);
  if (placements == placements_.end() || (is_cpu(point.point) && cpus_.size() < 2)) return placement;
  const size_t count = point.point.placement.devices.size();
  std::string name = name_of_model(point.identity.device);
  if (count > 1) name = fmt::format("{}x {}", count, name);
  const auto same_count = placements->second.find(count);
  if (same_count == placements->second.end()) return name + " " + placement;
  if (same_count->second.devices.size() > 1) name += " " + devices_of(point);
  const int processes = point.point.placement.processes;
  return same_count->second.processes.size() > 1 && processes > 1 ? fmt::format("{}, {} processes", name, processes) : name;
}

// "H100" for "NVIDIA H100 80GB HBM3", unless another device begins with the same word.
std::string DeviceNames::name_of_model(const std::string& device) const {
  const auto first_word = [](const std::string& name) { return name.substr(0, name.find(' ')); };
  std::string name = short_device_name(device);
  if (cpus_.contains(device)) return name;
  const bool is_alone = std::none_of(placements_.begin(), placements_.end(), [&](const auto& other) {
    return other.first != device && first_word(short_device_name(other.first)) == first_word(name);
  });
  return is_alone ? first_word(name) : name;
}

Aspects aspects_of(const PointSummary& summary, const DeviceNames& names) {
  const Point& point = summary.point;
  Aspects aspects{{"1 device", names.of(summary)}, {"2 precision", std::string(name_of(point.precision))},
                  {"3 scenario", point.scenario},  {"4 threads", threads_text(point)},
                  {"6 tenant", summary.tenant},    {"7 rank", summary.rank == 0 ? "" : "rank " + std::to_string(summary.rank)}};
  for (const auto& [name, value] : point.options) aspects["5 " + name] = option_text(name, value);
  return aspects;
}

Aspects all_aspects(const PointSummary& summary, const DeviceNames& devices) {
  const Point& point = summary.point;
  Aspects aspects = aspects_of(summary, devices);
  for (const char* option : {"duel", "contender", dataset_hash_option}) aspects.erase(std::string("5 ") + option);
  const auto place = contender_place(point);
  aspects.insert({{"0 task", std::string(name_of(point.task))},
                  {"0 model", hash_words("model", point.model_hash)},
                  {"0 weights", point.weights + " weights"},
                  {"0 dataset", point.dataset},
                  {"0 samples", hash_words("samples", option_of(point, dataset_hash_option))},
                  {"8 contender", place ? fmt::format("arm {}/{}", place->number, place->count) : std::string()}});
  return aspects;
}

void Varying::add(const Aspects& member) {
  ++members_;
  for (const auto& [name, value] : member) {
    values_[name].insert(value);
    ++present_[name];
  }
}

std::set<std::string> Varying::names() const {
  std::set<std::string> names;
  for (const auto& [name, distinct] : values_) {
    if (distinct.size() > 1 || present_.at(name) < members_) names.insert(name);
  }
  return names;
}

}  // namespace deepgap
