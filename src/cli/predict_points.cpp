#include "cli/predict_points.h"

#include "analysis/point_summary.h"
#include "base/file.h"
#include "base/parse_json.h"
#include "base/text.h"
#include "cli/axis_values.h"
#include "cli/stores.h"
#include "model/model_source.h"
#include "profile/stored_profile.h"
#include "record/identity.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

namespace deepgap {
namespace {

KernelNeeds needs_of(const KernelWork& work) {
  using Kind = KernelNeeds::Kind;
  const Kind kind = work.kind == KernelWork::Kind::convolution ? Kind::convolution
                    : work.kind == KernelWork::Kind::product   ? Kind::product
                                                               : Kind::other;
  return {kind, 2.0 * static_cast<double>(work.macs), static_cast<double>(work.activations), static_cast<double>(work.weights)};
}

// "H100 SXM5" as "h100sxm5".
std::string letters(const std::string& name) {
  std::string kept;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return kept;
}

double value_of(const PointSummary& point, const std::string& metric) {
  const MetricSummary* found = point.find(metric);
  return found == nullptr ? 0 : found->estimate.value;
}

// Returns whether a fit of that kind may have the Point.
bool is_of(MeasuredKind kind, const Point& point) {
  const bool cpu = point.placement.devices.front().kind == "cpu", training = point.task == Task::train;
  if (point.placement.devices.size() != 1 || point.placement.processes != 1) return false;
  if (kind == MeasuredKind::training) return training && !cpu && option_of(point, "cuda_graph", "off") == "on";
  return !training && unit_of_work(point) == "batch" && cpu == (kind == MeasuredKind::cpu);
}

// A CPU of a Store, as its ceilings and its rows name it: part of it is another device.
std::string cpu_name(const Identity& identity, int threads) {
  return fmt::format("{}, {} thread{}", identity.device, threads, threads == 1 ? "" : "s");
}

MeasuredRow row_of(const PointSummary& summary, double throughput) {
  constexpr double ms = 1e-3, mib = 1048576;
  const Point& point = summary.point;
  const auto batch = static_cast<double>(point.batch);
  const bool cpu = point.placement.devices.front().kind == "cpu";
  return {
      .model = point.model,
      .device = cpu ? cpu_name(summary.identity, point.threads) : summary.identity.device,
      .precision = std::string(name_of(point.precision)),
      .batch = batch,
      .seconds = batch / throughput,
      .memory_bytes = cpu ? 0 : value_of(summary, "device_memory_mib") * mib,
      .power_w = point.task == Task::train ? 0 : value_of(summary, "power_w"),
      .optimizer = point.task == Task::train ? option_of(point, "optimizer", "momentum") : "",
      .part_seconds = {ms * value_of(summary, "forward_ms"), ms * value_of(summary, "backward_ms"), ms * value_of(summary, "update_ms")},
      .activation_bytes = mib * value_of(summary, "activations_mib")};
}

std::vector<MeasuredRow> rows_of_stores(MeasuredKind kind, const std::string& engine, const std::vector<std::string>& stores,
                                        Devices& devices) {
  PointCollector collector;
  look_at_stores(stores, false, [&](const Store& store, const Record& record) {
    if (record.point.placement.devices.empty()) return;
    if (is_of(kind, record.point)) collector.add(record);
    if (kind != MeasuredKind::cpu || record.point.placement.devices.front().kind != "cpu") return;
    const std::string profile = store.profile(record.record_id);
    if (profile.empty()) return;
    const StoredProfile stored = parse_stored_profile(profile);
    if (!stored.machine.ceilings.compute.empty())
      devices.cpu(cpu_name(identity_of(record), stored.machine.ceilings.threads), stored.machine.ceilings);
  });
  std::vector<MeasuredRow> rows;
  for (const PointSummary& summary : collector.summaries()) {
    const double throughput = value_of(summary, "throughput");
    if (summary.point.backend != engine || !summary.usable() || !(throughput > 0)) continue;
    if (!is_zoo_name(summary.point.model) && !is_model_file(summary.point.model)) continue;  // a file that is elsewhere
    rows.push_back(row_of(summary, throughput));
  }
  return rows;
}

TrainSettings settings_of(const std::string& optimizer) {
  static const std::map<std::string, Optimizer> known{
      {"sgd", Optimizer::sgd}, {"momentum", Optimizer::momentum}, {"adam", Optimizer::adam}, {"adamw", Optimizer::adamw}};
  const auto found = known.find(optimizer);
  if (found == known.end())
    throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --optimizer: expected sgd, momentum, adam or adamw", optimizer));
  return {.optimizer = found->second};
}

KernelNeeds needs_of(const StepKernel& kernel) {
  using Pass = StepKernel::Pass;
  KernelNeeds needs = needs_of(kernel.work);
  needs.wide_activations = static_cast<double>(kernel.wide_activations);
  needs.fixed_bytes = static_cast<double>(kernel.fixed_bytes);
  needs.only_in_16_bits = kernel.only_in_16_bits;
  needs.part = kernel.pass == Pass::forward ? StepPart::forward : kernel.pass == Pass::backward ? StepPart::backward : StepPart::update;
  return needs;
}

}  // namespace

const NetworkNeeds& Networks::of(const std::string& model, const std::map<std::string, std::vector<int64_t>>& shapes) {
  auto& known = known_[model];
  if (known == nullptr) {
    const NetworkWork work = network_work_of({.name = model, .shapes = shapes});
    NetworkNeeds needs{.inputs = static_cast<double>(work.inputs),
                       .weights = static_cast<double>(work.weights),
                       .live_activations = static_cast<double>(work.live_activations)};
    for (const KernelWork& kernel : work.kernels) needs.kernels.push_back(needs_of(kernel));
    known = std::make_unique<NetworkNeeds>(std::move(needs));
  }
  return *known;
}

const NetworkNeeds& Networks::training(const std::string& model, const std::string& optimizer,
                                       const std::map<std::string, std::vector<int64_t>>& shapes) {
  const TrainSettings settings = settings_of(optimizer);
  auto& known = known_[model + " trained by " + optimizer];
  if (known == nullptr) {
    const StepWork work = step_work_of({.name = model, .shapes = shapes}, settings);
    NetworkNeeds needs{.inputs = static_cast<double>(work.inputs),
                       .live_activations = static_cast<double>(work.kept_activations),
                       .state = TrainingState{.weights = static_cast<double>(work.weight_bytes),
                                              .gradients = static_cast<double>(work.gradient_bytes),
                                              .optimizer = static_cast<double>(work.optimizer_bytes),
                                              .kept_wide = static_cast<double>(work.kept_wide),
                                              .kept_copies = static_cast<double>(work.kept_copies),
                                              .kept_only_in_32_bits = static_cast<double>(work.kept_only_in_32_bits),
                                              .copied_weights = static_cast<double>(work.copied_weights)}};
    for (const StepKernel& kernel : work.kernels) needs.kernels.push_back(needs_of(kernel));
    known = std::make_unique<NetworkNeeds>(std::move(needs));
  }
  return *known;
}

const DeviceFigures* Devices::of_driver(const std::string& name) {
  const auto sheet = data_sheet_of(name);
  return sheet ? &figures(*sheet) : nullptr;
}

const DeviceFigures& Devices::kept(DeviceFigures figures) {
  auto& known = known_[figures.name];
  if (known == nullptr) known = std::make_unique<DeviceFigures>(std::move(figures));
  return *known;
}

const DeviceFigures& Devices::figures(const DataSheet& sheet) {
  DeviceFigures figures{
      .name = sheet.variant, .architecture = sheet.architecture, .flop_per_s = sheet.flop_per_s, .bytes_per_s = sheet.memory_bytes_per_s};
  if (sheet.memory_bytes > 0) figures.memory_bytes = sheet.memory_bytes;
  if (sheet.power_w > 0) figures.power_w = sheet.power_w;
  return kept(std::move(figures));
}

const DeviceFigures& Devices::cpu(const std::string& name, const Ceilings& ceilings) {
  DeviceFigures figures{.name = name, .architecture = "CPU"};
  for (const ComputeCeiling& compute : ceilings.compute)
    figures.flop_per_s[compute.precision] = std::max(figures.flop_per_s[compute.precision], compute.flop_per_s);
  for (const MemoryCeiling& memory : ceilings.memory)
    figures.bytes_per_s_by_footprint.emplace_back(static_cast<double>(memory.footprint_bytes), memory.bytes_per_s());
  if (!ceilings.memory.empty()) figures.bytes_per_s = ceilings.memory.back().bytes_per_s();
  return kept(std::move(figures));
}

const DeviceFigures* Devices::known_cpu(const std::string& name) {
  if (const auto known = known_.find(name); known != known_.end()) return known->second.get();
  for (DeviceFigures& figures : packed_cpus())
    if (figures.name == name) return &kept(std::move(figures));
  return nullptr;
}

const DeviceFigures& Devices::cpu_of_file(const std::string& path) {
  const auto object = parse_json(read_text(path));
  if (!object.is_object() || !object.contains("ceilings") || !object.at("ceilings").is_object())
    throw Error(ErrorKind::input, fmt::format("{}: not the measured peaks of a CPU, as `deepgap ceilings --json` writes them", path));
  const Ceilings ceilings = ceilings_from_json(object.at("ceilings"));
  if (ceilings.gpu) throw Error(ErrorKind::usage, fmt::format("{} has the peaks of a GPU: give the name of its data sheet", path));
  if (ceilings.compute.empty() || ceilings.memory.empty())
    throw Error(ErrorKind::input, fmt::format("{}: there are no measurements of that CPU", path));
  return cpu(std::filesystem::path(path).filename().string(), ceilings);
}

const DataSheet& Devices::named(const std::string& name, const std::vector<MeasuredPoint>& measured) const {
  const std::string asked = letters(name);
  const DataSheet* first = nullptr;
  std::vector<std::string> variants;
  for (const DataSheet& sheet : data_sheets()) {
    variants.push_back(sheet.variant);
    const std::string variant = letters(sheet.variant);
    if (variant == asked) return sheet;
    // "a10" is no A100.
    if (asked.empty() || !variant.starts_with(asked) || std::isdigit(static_cast<unsigned char>(variant[asked.size()])) != 0) continue;
    const bool known =
        std::any_of(measured.begin(), measured.end(), [&](const MeasuredPoint& point) { return point.device == sheet.variant; });
    if (known) return sheet;
    if (first == nullptr) first = &sheet;
  }
  if (first != nullptr) return *first;
  throw Error(ErrorKind::usage,
              fmt::format("invalid value '{}' for --device: expected the name of a data sheet: {}", name, join(variants, ", ")));
}

std::vector<MeasuredPoint> measured_points(MeasuredKind kind, const std::string& engine, const std::vector<std::string>& stores,
                                           Networks& networks, Devices& devices) {
  std::map<std::tuple<std::string, std::string, std::string, double, std::string>, MeasuredPoint> points;
  std::vector<MeasuredRow> rows = measured_rows(kind, engine);
  if (!stores.empty())
    for (MeasuredRow& row : rows_of_stores(kind, engine, stores, devices)) rows.push_back(std::move(row));
  for (const MeasuredRow& row : rows) {
    const DeviceFigures* figures = kind == MeasuredKind::cpu ? devices.known_cpu(row.device) : devices.of_driver(row.device);
    if (figures == nullptr || !figures->flop_per_s.contains(row.precision == "mixed" ? "fp16" : row.precision)) continue;
    const NetworkNeeds& network = kind == MeasuredKind::training ? networks.training(row.model, row.optimizer) : networks.of(row.model);
    points[{row.model, figures->name, row.precision, row.batch, row.optimizer}] = {.model = row.model,
                                                                                   .device = figures->name,
                                                                                   .precision = row.precision,
                                                                                   .batch = row.batch,
                                                                                   .seconds = row.seconds,
                                                                                   .memory_bytes = row.memory_bytes,
                                                                                   .power_w = row.power_w,
                                                                                   .network = &network,
                                                                                   .figures = figures,
                                                                                   .setting = row.optimizer,
                                                                                   .part_seconds = row.part_seconds,
                                                                                   .activation_bytes = row.activation_bytes};
  }
  std::vector<MeasuredPoint> list;
  for (auto& [key, point] : points) list.push_back(std::move(point));
  return list;
}

}  // namespace deepgap
