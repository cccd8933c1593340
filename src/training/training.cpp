// Task train: steps of one batch, one after the other, on one or more processes that train together.
#include "base/registry.h"
#include "model/train_work.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/task_traits.h"
#include "scenario/forwarding_target.h"
#include "training/equal_steps.h"
#include "training/profile_step.h"
#include "training/train_check.h"
#include "training/train_options.h"
#include "worker/classes.h"
#include "worker/scenario_driver.h"
#include "worker/task_work.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

namespace deepgap {
namespace {

// Returns the shape of the output for one sample; empty where it does not follow from the batch.
Shape output_shape(const std::vector<TensorInfo>& outputs) {
  Shape shape;
  if (outputs.empty() || !outputs.front().dims) return shape;
  for (const Dim& dim : *outputs.front().dims) shape.push_back(dim.size);  // the batch is 1
  return shape;
}

// The samples with their training's target behind their inputs (deepgap/train.h): the class of their label, or one made from the seed if
// they have no label; for mse a one for that class, or numbers from the seed if the network is not a classifier.
class TrainSamples final : public Dataset {
 public:
  TrainSamples(Dataset& dataset, const std::vector<TensorInfo>& outputs, const TrainSettings& settings)
      : dataset_(dataset), classes_(class_count(outputs).value_or(0)), output_(output_shape(outputs)), settings_(settings) {}

  std::string describe() const override {
    const bool has_labels = dataset_.size() > 0 && dataset_.label(0).has_value();
    return dataset_.describe() + (has_labels ? "" : ", targets from the seed");
  }
  size_t size() const override { return dataset_.size(); }
  void load(std::span<const uint32_t> indices) override {
    dataset_.load(indices);
    for (const uint32_t index : indices)
      if (!targets_.contains(index)) targets_.emplace(index, target_of(index));
  }
  void unload(std::span<const uint32_t> indices) override {
    for (const uint32_t index : indices) targets_.erase(index);
    dataset_.unload(indices);
  }
  std::vector<TensorView> sample(uint32_t index) const override {
    std::vector<TensorView> tensors = dataset_.sample(index);
    tensors.push_back(targets_.at(index).view());
    return tensors;
  }
  std::optional<int64_t> label(uint32_t index) const override { return dataset_.label(index); }
  std::string sample_name(uint32_t index) const override { return dataset_.sample_name(index); }

 private:
  std::mt19937_64 random_of(uint32_t index) const {
    std::seed_seq seed{settings_.seed, uint64_t{index}};
    return std::mt19937_64(seed);
  }

  int64_t class_of(uint32_t index) const {
    if (const auto label = dataset_.label(index)) return *label;
    return classes_ > 0 ? static_cast<int64_t>(random_of(index)() % static_cast<uint64_t>(classes_)) : 0;
  }

  Tensor target_of(uint32_t index) const {
    if (settings_.loss == Loss::cross_entropy) {
      Tensor target = make_tensor(DataType::i64, {1});
      writable<int64_t>(target)[0] = class_of(index);
      return target;
    }
    Tensor target = make_tensor(DataType::f32, output_);
    const std::span<float> values = writable<float>(target);
    if (classes_ > 0) {
      std::fill(values.begin(), values.end(), 0.0F);
      values[static_cast<size_t>(class_of(index))] = 1;
      return target;
    }
    std::mt19937_64 random = random_of(index);
    for (float& value : values) value = static_cast<float>(random() >> 40) / static_cast<float>(1 << 24);  // [0, 1)
    return target;
  }

  Dataset& dataset_;
  int64_t classes_;  // 0: not known
  Shape output_;
  TrainSettings settings_;
  std::map<uint32_t, Tensor> targets_;  // targets of loaded samples
};

// Remembers the last loss, and the first that is not a number.
class LossMeter final : public ForwardingTarget {
 public:
  explicit LossMeter(Target& target) : ForwardingTarget(target) {}
  void on_completion(TargetCompletion completion) override {
    watch(std::move(completion), [this](std::span<const Completed> completed) {
      for (const Completed& c : completed)
        if (c.status == Status::ok && !c.outputs.empty()) add(c.outputs.front());
    });
  }
  int64_t steps() const { return steps_; }
  double last() const { return last_; }
  std::optional<int64_t> broken_at() const { return broken_at_; }  // counted from 1

 private:
  void add(const TensorView& output) {
    if (output.type != DataType::f32 || output.bytes() < sizeof(float)) return;  // from an engine that computes nothing
    float loss = 0;
    std::memcpy(&loss, output.data, sizeof(loss));
    const std::lock_guard lock(mutex_);
    last_ = loss;
    ++steps_;
    if (!std::isfinite(loss) && !broken_at_) broken_at_ = steps_;
  }

  std::mutex mutex_;
  int64_t steps_ = 0;
  double last_ = 0;
  std::optional<int64_t> broken_at_;
};

// Steps one after the other, as the scenario `batch` issues them, and the losses that they had.
class TrainingDriver final : public WorkloadDriver {
 public:
  explicit TrainingDriver(std::unique_ptr<WorkloadDriver> steps) : steps_(std::move(steps)) {}

  std::string unit() const override { return task_traits(Task::train).unit; }
  int64_t in_flight() const override { return steps_->in_flight(); }
  bool uses_all_slots() const override { return steps_->uses_all_slots(); }
  bool judges_accuracy() const override { return true; }  // a step answers no class
  bool was_warming() const override { return steps_->was_warming(); }

  WarmedUp warm_up(const DriverContext& context) override {
    LossMeter losses(context.target);
    WarmedUp warmed_up = steps_->warm_up(through(losses, context));
    warm_steps_ = losses.steps();
    if (losses.broken_at()) broken_in_warm_up_ = losses.broken_at();
    return warmed_up;
  }
  void fill(const DriverContext& context) override {
    losses_.emplace(context.target);
    steps_->fill(through(*losses_, context));
  }
  Measured measured(const DriverContext& context) override {
    Measured measured = steps_->measured(context);
    if (losses_->steps() > 0) measured.estimates["final_loss"] = {losses_->last(), {}, {}, 1};
    const auto broken = broken_in_warm_up_ ? broken_in_warm_up_ : losses_->broken_at();
    if (broken)
      measured.wrong = fmt::format("the loss is not finite from step {}{} on: use a lower --learning-rate", *broken,
                                   broken_in_warm_up_ ? " of the warm-up" : "");
    measured.facts["train.steps_before"] = warm_steps_;
    losses_.reset();
    return measured;
  }

 private:
  static DriverContext through(Target& target, const DriverContext& context) {
    return {context.order,   context.clock, context.heartbeat,  context.interrupted, context.dataset,
            context.samples, target,        context.dispatcher, context.end_to_end,  context.turns};
  }

  std::unique_ptr<WorkloadDriver> steps_;
  std::optional<LossMeter> losses_;
  int64_t warm_steps_ = 0;
  std::optional<int64_t> broken_in_warm_up_;
};

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

// Ranks of a training make the same number of steps, which a number or a duration gives, and not what each of them finds while it runs.
void require_equal_steps(const WorkOrder& order) {
  const StoppingSettings& stopping = order.stopping;
  if (order.ranks == 1 || stopping.name == "duration") return;
  if (stopping.name == "counts" && stopping.warmup && !stopping.duration) return;
  throw Error(ErrorKind::usage,
              "several processes train the same number of steps: give --duration, or --warmup and --iterations without --min-duration");
}

struct TrainReference final : OwnReference {
  explicit TrainReference(TrainResult found) : result(std::move(found)) {}
  TrainResult result;
};

class Training final : public TaskWork {
 public:
  void add_options(OptionTable<PointOptions>& table) const override { table.part(&PointOptions::train, train_options()); }
  const OptionInfo* own_option(const EngineOptions& given) const override { return train_options().first_in(given); }

  void require(const Point& point) const override {
    if (scenario_traits(point.scenario).unit != "batch")
      throw Error(ErrorKind::usage, fmt::format("training runs scenario batch, one step after the other; leave out {}", point.scenario));
    require_ranks(point.placement);
  }

  // Steps cycle four batches, of at most 256 samples where one batch is not more.
  void set_defaults(const Point& point, PointOptions& options) const override {
    constexpr int64_t epoch = 256;  // as of the study on training intensity (studies/training-intensity.toml)
    const int64_t batch = std::max<int64_t>(point.batch, 1);
    options.samples = std::clamp<int64_t>(4 * batch, batch, std::max(batch, epoch));
    const std::string optimizer = option_of(point, "optimizer");
    if (optimizer == "adam" || optimizer == "adamw") options.train.learning_rate = 0.001;
    if (optimizer == "adamw") options.train.weight_decay = 0.01;
  }

  void complete(EngineRequest& request, const Point& point, const PointOptions& options) const override {
    if (const int64_t checked = checked_batch(point, options.train); checked != point.batch)
      request.batch_sizes.insert(request.batch_sizes.begin(), checked);
  }

  // A query may hold a sample twice; a step that does would learn from fewer than it says.
  void require_samples(const Point& point, int64_t there) const override {
    if (there < point.batch)
      throw Error(ErrorKind::usage,
                  fmt::format("task train: {} samples of dataset {} do not fill a batch of {}", there, point.dataset, point.batch));
  }

  std::unique_ptr<Dataset> targeted(Dataset& dataset, const std::vector<TensorInfo>& outputs, const PointOptions& options) const override {
    return std::make_unique<TrainSamples>(dataset, outputs, options.train);
  }

  std::unique_ptr<WorkloadDriver> driver(const WorkOrder& order, const Preparation& prepared) const override {
    require_equal_steps(order);
    const auto make_steps = [point = order.point, options = prepared.options](const StoppingSettings& stopping) {
      return make_scenario_driver(point, options, stopping);
    };
    const bool agree = order.ranks > 1 && prepared.stopping.name == "duration";
    return std::make_unique<TrainingDriver>(agree ? make_equal_steps(make_steps, prepared.stopping) : make_steps(prepared.stopping));
  }

  Expected expected(const OrderContext& context) const override {
    if (std::string none = no_train_reference(context.order.point, context.inputs.model->graph()); !none.empty())
      return {.none = std::move(none), .unchecked = true};
    auto found = find_train_reference(context.order, context.prepared.options, context.inputs);
    if (!found) return {};
    return {.own = std::make_shared<TrainReference>(*std::move(found))};
  }
  void provide_reference(const WorkOrder& order, const PointOptions& options, const Group::Inputs& inputs, Clock& clock) const override {
    provide_train_reference(order, options, inputs, clock);
  }
  SessionsCheck check(const Expected& expected, LoadedOrder& loaded, const OrderContext& context) const override {
    const auto* reference = dynamic_cast<const TrainReference*>(expected.own.get());
    return check_training(loaded.instances().all().front(), context, reference == nullptr ? nullptr : &reference->result);
  }

  void note_work(Record& record, const Model& model, const PointOptions& options) const override {
    const TrainWork work = train_work(model.graph(), options.train);
    record.macs_per_item = work.macs_per_item;
    record.flop_per_item = work.flop_per_item(record.point.batch);
    record.bytes_per_item = work.bytes_per_item(record.point.batch);
  }

  std::string why_not_profiled(const Point& point) const override {
    if (point.placement.devices.front().kind != "cuda") return "a training has no layers that are timed one by one";
    return point.placement.processes > 1 ? "it trained in several processes" : "";
  }
  LayerProfile profile(const Point& point, const PointOptions& options, const ProfileRequest& request) const override {
    return profile_step(point, options, request);
  }
};

const bool registered = Registry<TaskWork>::instance().add("train", [] { return std::make_unique<Training>(); });

}  // namespace
}  // namespace deepgap
