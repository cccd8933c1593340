#include "training/train_check.h"
#include "base/quantity.h"

#include "base/clocks.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/own_file.h"
#include "model/graph_tools.h"
#include "model/weights/safetensors.h"
#include "scenario/session_target.h"
#include "telemetry/environment.h"
#include "training/train_options.h"
#include "worker/load_session.h"
#include "worker/plugin.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace deepgap {
namespace {

constexpr int train_edition = 1;  // changed when what a step computes changes
constexpr int64_t kept_elements = 4096;
constexpr const char* reference_engine = "libtorch";

// The limits: how far a loss may be from the reference's, as a share, and how much larger the weights' movement must be than its error.
// Adam's first steps have the size of the learning rate whatever the gradient, so that rounding turns those of tiny gradients round.
struct Tolerance {
  double loss;
  double sqnr_db;
};
Tolerance tolerance_of(Precision precision, const TrainSettings& settings) {
  const bool adam = settings.optimizer == Optimizer::adam || settings.optimizer == Optimizer::adamw;
  switch (precision) {
    case Precision::fp32:
      return {0.002, adam ? 15.0 : 30.0};
    case Precision::tf32:
      return {0.02, adam ? 5.0 : 15.0};
    default:
      return {0.1, adam ? 0.0 : 5.0};
  }
}

std::string not_finite(const std::vector<double>& losses) {
  for (size_t i = 0; i < losses.size(); ++i)
    if (!std::isfinite(losses[i])) return fmt::format("the loss of step {} is {}: give a lower --learning-rate", i + 1, losses[i]);
  return {};
}

std::vector<uint32_t> samples_of_step(std::span<const uint32_t> samples, int64_t batch, int64_t step) {
  std::vector<uint32_t> of_step;
  for (int64_t i = 0; i < batch; ++i) of_step.push_back(samples[static_cast<size_t>(step * batch + i) % samples.size()]);
  return of_step;
}

// All ranks check the same samples: the average of equal gradients is what one alone has.
std::vector<uint32_t> checked_samples(const Group::Inputs& inputs) {
  std::vector<uint32_t> samples = inputs.samples;
  std::sort(samples.begin(), samples.end());
  return samples;
}

double run_step(Target& target, Clock& clock, const std::vector<uint32_t>& samples, const std::atomic<bool>& interrupted) {
  std::atomic<bool> done{false};
  float loss = 0;
  target.on_completion([&](std::span<const Completed> completed) {
    for (const Completed& c : completed)
      if (c.status == Status::ok && !c.outputs.empty()) std::memcpy(&loss, c.outputs.front().data, sizeof(loss));
    if (!completed.empty()) done.store(true);
    clock.notify();
  });
  const Query query{0, clock.now(), samples};
  target.submit(std::span(&query, 1));
  while (!done.load() && !interrupted.load()) clock.wait_until(never);
  if (!done.load()) target.cancel();
  target.on_completion({});
  target.flush();
  return loss;
}

// Returns the path of the reference in the cache, made from all that decides it.
std::string reference_file(const WorkOrder& order, const PointOptions& options, const Group::Inputs& inputs) {
  const int64_t batch = checked_batch(order.point, options.train);
  const TrainSettings& train = options.train;
  Hasher hasher;
  hasher.add_value(train_edition);
  hasher.add(std::string_view(inputs.model->summary().content_hash));
  for (const int64_t value : {batch, checked_steps, static_cast<int64_t>(train.optimizer), static_cast<int64_t>(train.loss),
                              train.accumulation, static_cast<int64_t>(train.seed)})
    hasher.add_value(value);
  for (const double value : {train.learning_rate, train.momentum, train.weight_decay}) hasher.add_value(value);
  const std::vector<uint32_t> samples = checked_samples(inputs);
  for (int64_t step = 0; step < checked_steps; ++step) {
    for (const uint32_t sample : samples_of_step(samples, batch, step))
      for (const TensorView& view : inputs.dataset->sample(sample)) hasher.add(std::span(view.data, view.bytes()));
  }
  return fmt::format("{}/references/{}.train.safetensors", order.cache_dir, hasher.digest());
}

}  // namespace

std::vector<double> run_steps(Target& target, Clock& clock, std::span<const uint32_t> samples, int64_t batch, int64_t steps,
                              const std::atomic<bool>& interrupted) {
  std::vector<double> losses;
  for (int64_t step = 0; step < steps && !interrupted.load(); ++step)
    losses.push_back(run_step(target, clock, samples_of_step(samples, batch, step), interrupted));
  return losses;
}

std::map<std::string, Tensor> sampled_weights(const std::map<std::string, Tensor>& weights) {
  std::map<std::string, Tensor> sampled;
  for (const auto& [name, weight] : weights) {
    const int64_t size = element_count(weight.shape), count = std::min(size, kept_elements);
    Tensor few = make_tensor(DataType::f32, {count});
    for (int64_t i = 0; i < count; ++i)
      writable<float>(few)[static_cast<size_t>(i)] = weight.as<float>()[static_cast<size_t>(i * size / count)];
    sampled.emplace(name, std::move(few));
  }
  return sampled;
}

std::string no_train_reference(const Point& point, const Graph& graph) {
  if (point.placement.devices.front().kind == "cpu") return {};
  for (const Node& node : graph.nodes) {
    const Tensor* ratio = node.op == "Dropout" && node.inputs.size() > 1 ? constant_of(graph, node.inputs[1]) : nullptr;
    const bool drops_nothing = ratio != nullptr && ratio->type == DataType::f32 && ratio->as<float>()[0] == 0;
    if (node.op == "Dropout" && !drops_nothing)
      return fmt::format("no reference: Dropout (node '{}') draws other random numbers on {} than on the CPU", node.name,
                         point.placement.devices.front().kind);
  }
  return {};
}

std::optional<TrainResult> find_train_reference(const WorkOrder& order, const PointOptions& options, const Group::Inputs& inputs) {
  if (order.cache_dir.empty()) return std::nullopt;
  const std::string file = reference_file(order, options, inputs);
  if (!is_own_file(file)) return std::nullopt;  // or there is none
  try {
    TrainResult result;
    result.weights = read_safetensors(file);
    const auto losses = result.weights.find("loss");
    if (losses == result.weights.end() || losses->second.type != DataType::f64) return std::nullopt;
    result.losses.resize(static_cast<size_t>(element_count(losses->second.shape)));
    std::memcpy(result.losses.data(), losses->second.data.get(), losses->second.bytes());
    result.weights.erase(losses);
    return result;
  } catch (const Error&) {
    return std::nullopt;  // damaged: it is made again
  }
}

void provide_train_reference(const WorkOrder& order, const PointOptions& options, const Group::Inputs& inputs, Clock& clock) {
  if (order.cache_dir.empty() || find_train_reference(order, options, inputs)) return;
  const auto plugin = open_plugin(reference_engine);
  LoadOptions load{engine_request(order.point, options)};
  const int64_t batch = checked_batch(order.point, options.train);
  load.placement = {};
  load.precision = Precision::fp32;
  load.options = {};
  load.batch_sizes = {batch};
  load.inputs = InputPlace::host;
  load.train.loss_scale = 1;
  load.train.rank = 0;
  load.train.ranks = 1;
  load.threads = static_cast<int>(allowed_cpus().size());
  load.clock = &clock;
  require(plugin->backend().supports(load, inputs.model->summary()));
  Session* session = nullptr;
  const auto target = make_session_target(
      [&](Completion completion) {
        load.completion = std::move(completion);
        auto loaded = load_session(plugin->backend(), *inputs.model, load);
        session = loaded.get();
        return loaded;
      },
      *inputs.dataset, batch, SampleLayout::as_they_are);
  target->load(inputs.samples);
  const std::atomic<bool> never_interrupted{false};
  const std::vector<double> losses = run_steps(*target, clock, checked_samples(inputs), batch, checked_steps, never_interrupted);
  std::map<std::string, Tensor> kept = sampled_weights(session->trained_weights());
  Tensor listed = make_tensor(DataType::f64, {static_cast<int64_t>(losses.size())});
  std::copy(losses.begin(), losses.end(), writable<double>(listed).begin());
  kept.emplace("loss", std::move(listed));
  make_directories(order.cache_dir + "/references");
  replace_file(reference_file(order, options, inputs), safetensors_content(kept, {{"against", "libtorch fp32 on the CPU"}}));
}

CheckResult compare_training(const TrainResult& reference, const TrainResult& result, const std::map<std::string, Tensor>& begin) {
  CheckResult check;
  check.against = "libtorch fp32 on the CPU";
  double moved = 0, error = 0, sum = 0;
  for (const auto& [name, expected] : reference.weights) {
    const auto actual = result.weights.find(name), before = begin.find(name);
    if (actual == result.weights.end() || before == begin.end() || actual->second.shape != expected.shape)
      throw Error(ErrorKind::input, fmt::format("weight '{}' is not among those that were trained", name));
    for (size_t i = 0; i < expected.as<float>().size(); ++i) {
      const double step = static_cast<double>(expected.as<float>()[i]) - static_cast<double>(before->second.as<float>()[i]);
      const double off = static_cast<double>(actual->second.as<float>()[i]) - static_cast<double>(expected.as<float>()[i]);
      moved += step * step;
      error += off * off;
    }
  }
  for (size_t i = 0; i < reference.losses.size() && i < result.losses.size(); ++i) {
    const double off = std::abs(result.losses[i] - reference.losses[i]);
    check.max_abs_error = std::max(check.max_abs_error, off);
    sum += off;
  }
  check.mean_abs_error = sum / static_cast<double>(std::max<size_t>(reference.losses.size(), 1));
  check.sqnr_db = error == 0 ? 300 : 10 * std::log10(std::max(moved, 1e-300) / error);
  return check;
}

namespace {

// Returns why the losses are not those that they should be; empty: they are.
std::string other_losses(const std::vector<double>& losses, const std::vector<double>& expected, const std::string& whose,
                         double tolerance) {
  for (size_t i = 0; i < losses.size() && i < expected.size(); ++i) {
    if (std::abs(losses[i] - expected[i]) <= tolerance * std::abs(expected[i])) continue;
    return fmt::format("step {} has the loss {:.6g}, {} has {:.6g}, and {} are allowed", i + 1, losses[i], whose, expected[i],
                       chosen_percent_text(tolerance));
  }
  return {};
}

void judge(const TrainResult& result, const TrainResult& reference, const std::map<std::string, Tensor>& begin, const Tolerance& tolerance,
           SessionsCheck& found) {
  CheckResult check = compare_training(reference, result, begin);
  check.min_sqnr_db = tolerance.sqnr_db;
  found.wrong = other_losses(result.losses, reference.losses, check.against, tolerance.loss);
  if (found.wrong.empty() && check.sqnr_db < tolerance.sqnr_db)
    found.wrong = fmt::format("the weights moved differently from {}: SQNR {:.1f} dB, {:.0f} dB are asked for", check.against,
                              check.sqnr_db, tolerance.sqnr_db);
  check.pass = found.wrong.empty();
  found.check = check;
}

}  // namespace

SessionsCheck check_training(const Instances::Instance& instance, const OrderContext& context, const TrainResult* reference) {
  SessionsCheck found;
  Session& session = *instance.session;
  Clock& clock = context.clock;
  const Point& point = context.order.point;
  const TrainSettings& settings = context.prepared.options.train;
  const int64_t batch = checked_batch(point, settings);
  const std::vector<uint32_t> samples = checked_samples(context.inputs);
  const auto steps = [&] {
    std::vector<double> losses = run_steps(*instance.target, clock, samples, batch, checked_steps, context.interrupted);
    context.heartbeat.beat();
    return losses;
  };
  for (const auto& [kind, bytes] : session.memory_kinds()) found.facts[fmt::format("train.memory.{}_bytes", kind)] = bytes;
  session.reset();
  const auto begin = sampled_weights(session.trained_weights());
  const Nanoseconds from = clock.now();
  const TrainResult result{steps(), sampled_weights(session.trained_weights())};
  found.first_result_ms = static_cast<double>(clock.now() - from) / 1e6 / static_cast<double>(checked_steps);
  session.reset();
  found.wrong = not_finite(result.losses);
  if (!found.wrong.empty() || context.interrupted.load()) return found;
  const Tolerance tolerance = tolerance_of(point.precision, settings);
  found.wrong = other_losses(steps(), result.losses, "the same step before a reset", tolerance.loss);
  session.reset();
  if (reference == nullptr || !found.wrong.empty() || context.interrupted.load()) return found;
  judge(result, *reference, begin, tolerance, found);
  found.check->samples = batch * checked_steps;
  return found;
}

}  // namespace deepgap
