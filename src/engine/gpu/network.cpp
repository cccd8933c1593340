#include "engine/gpu/network.h"

#include "engine/gpu/beside_previous.h"
#include "engine/gpu/fusion.h"
#include "engine/gpu/join_pools.h"
#include "engine/passes/independent_samples.h"
#include "engine/plan/memory_plan.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace deepgap::gpu {
namespace {

constexpr size_t arena_alignment = 256;

void refuse_open_shapes(const Graph& graph) {
  for (const Node& node : graph.nodes)
    for (ValueId id : node.outputs) {
      if (id == no_value) continue;
      const auto& dims = graph.values[static_cast<size_t>(id)].dims;
      if (dims && std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.known(); })) continue;
      throw Error(ErrorKind::refused,
                  fmt::format("native on cuda does not run operator {} (node {}): a shape depends on the data", node.op, node.name));
    }
}

// Asked at another size, too, which no other axis is likely to have.
bool keeps_samples_apart(const Graph& unbound, int64_t batch) {
  return batch > 1 && runs_in_parts(unbound, folded_graph(unbound, batch), batch, batch + 1);
}

bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

std::string tuned_path(const NetworkOptions& options, const std::string& device) {
  return options.cache_folder.empty() ? "" : options.cache_folder + "/tuned-" + tuned_file_name(device) + ".txt";
}

}  // namespace

std::vector<int64_t> compiled_sizes(std::vector<int64_t> asked) {
  constexpr size_t few = 16;
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  if (asked.size() <= few) return asked;
  const int64_t least = asked.front(), most = asked.back();
  std::erase_if(asked, [&](int64_t size) {
    const int64_t of_least = size / least;
    const bool kept =
        size == most || (size % least == 0 && (is_power_of_two(of_least) || (of_least % 3 == 0 && is_power_of_two(of_least / 3))));
    return !kept;
  });
  return asked;
}

// Compiling during the work counts as a part of its own.
template <typename Work>
void Network::part(const char* name, const Work& work) {
  const auto elsewhere = [&] { return options_.clock == nullptr ? 0 : options_.clock->now() - kernels_.compiling_ns(); };
  const Nanoseconds begin = elsewhere();
  work();
  load_parts_[name] += elsewhere() - begin;
}

Network::Network(const Graph& graph, const Chip& chip, const std::string& device, const NetworkOptions& options)
    : options_(options), chip_(chip), kernels_(chip, options.cache_folder, options.clock) {
  part("lower", [&] { lower(graph); });
  TunedFile known(tuned_path(options, device), shipped_winners(device, chip));
  Libraries libraries;
  Tuner tuner(kernels_, chip, options.tuning, known, options.libraries ? &libraries : nullptr);
  choose_kernels(tuner);
  part("upload", [&] {
    for (auto& [batch, program] : programs_) plan_memory_of(program);
    place_constants();
    kernels_.keep_only(launches());
  });
  load_parts_["kernels"] = kernels_.compiling_ns();
}

void Network::lower(const Graph& graph) {
  Graph unbound = graph;
  const FusionRules rules = gpu_fusion_rules(options_.integers, options_.numbers.stored);
  optimize_unbound(unbound, rules);
  for (int64_t batch : options_.batch_sizes) {
    if (programs_.contains(batch)) continue;
    const Graph bound = bound_graph(unbound, batch, rules);
    refuse_open_shapes(bound);
    Program program{.batch = batch,
                    .samples_apart = keeps_samples_apart(unbound, batch),
                    .plan = Lowering(bound, options_.numbers, chip_, options_.choices).lower()};
    join_pools(program.plan, chip_);
    program.inputs = known_shapes(bound, bound.inputs);
    program.outputs = known_shapes(bound, bound.outputs);
    program.preparations.resize(program.inputs.size());
    if (options_.inputs_ready) split_off_preparations(program);
    programs_.emplace(batch, std::move(program));
  }
}

namespace {

// Returns whether a step brings numbers into another type or order and reads nothing else that is computed.
bool is_preparation(const GpuPlan& plan, const Step& step, BufferId input) {
  const bool simple = step.op == "Reorder" || step.op == "QuantizeLinear" || step.op == "Cast";
  return simple && step.writes.size() == 1 && std::all_of(step.reads.begin(), step.reads.end(), [&](BufferId id) {
           return id == input || plan.buffers[static_cast<size_t>(id)].kind == Buffer::Kind::constant;
         });
}

// The index of the only step that reads `input`, where it is a preparation.
std::optional<size_t> preparation_of(const GpuPlan& plan, BufferId input) {
  std::optional<size_t> found;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (std::find(step.reads.begin(), step.reads.end(), input) == step.reads.end()) continue;
    if (found || !is_preparation(plan, step, input)) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace

void Network::split_off_preparations(Program& program) const {
  GpuPlan& plan = program.plan;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].kind != Buffer::Kind::input) continue;
    const size_t external = plan.buffers[b].external;
    auto input = static_cast<BufferId>(b);
    for (auto index = preparation_of(plan, input); index; index = preparation_of(plan, input)) {
      Step step = std::move(plan.steps[*index]);
      plan.steps.erase(plan.steps.begin() + static_cast<std::ptrdiff_t>(*index));
      const BufferId made = step.writes[0];
      if (plan.buffers[static_cast<size_t>(made)].kind != Buffer::Kind::arena) {  // the network does nothing else
        plan.steps.insert(plan.steps.begin() + static_cast<std::ptrdiff_t>(*index), std::move(step));
        break;
      }
      // The buffer that was read before the last preparation is not an input of the program any more.
      plan.buffers[static_cast<size_t>(input)].kind = Buffer::Kind::arena;
      plan.buffers[static_cast<size_t>(made)].kind = Buffer::Kind::input;
      plan.buffers[static_cast<size_t>(made)].external = external;
      program.preparations[external].push_back(std::move(step));
      input = made;
    }
  }
}

size_t Program::input_bytes(size_t input) const {
  for (const Buffer& buffer : plan.buffers)
    if (buffer.kind == Buffer::Kind::input && buffer.external == input) return buffer.bytes;
  return 0;
}

std::vector<const Launch*> Network::launches() const {
  std::vector<const Launch*> all;
  const auto add = [&](const std::vector<Step>& steps) {
    for (const Step& step : steps)
      for (const Launch& launch : step.launches) all.push_back(&launch);
  };
  for (const auto& [batch, program] : programs_) {
    add(program.plan.steps);
    for (const auto& steps : program.preparations) add(steps);
  }
  return all;
}

void Network::choose_kernels(Tuner& tuner) {
  kernels_.prepare(launches());
  part("tune", [&] {
    for (auto& [batch, program] : programs_) join_known_chains(program, tuner);
  });
  std::vector<Convolution> problems;
  for (const auto& [batch, program] : programs_)
    for (const Step& step : program.plan.steps)
      if (step.choice) problems.push_back(step.choice->problem);
  std::map<int64_t, Chosen> chosen;  // by batch
  part("tune", [&] {
    std::vector<ConvolutionVariant> variants = tuner.choose(problems);
    size_t next = 0;
    for (auto& [batch, program] : programs_) {
      for (const Step& step : program.plan.steps)
        chosen[batch].push_back(step.choice ? std::optional(std::move(variants[next++])) : std::nullopt);
      for (const FoundChain& found : ChainFinder(program.plan, chip_).candidates()) measured(tuner, found, chosen[batch]);
    }
    for (auto& [batch, program] : programs_) settle_all(program, tuner, chosen[batch]);
  });
  part("pack", [&] { packer_.pack(); });
  for (auto& [batch, program] : programs_) let_steps_begin_beside(program.plan, chip_);
  kernels_.prepare(launches());
}

void Network::settle(Program& program, Step& step, const ConvolutionVariant& variant) {
  const auto choice = std::make_shared<const Choice>(std::move(*step.choice));
  step.choice.reset();
  step.roles[role_weights] = packer_.add(program.plan, [=] { return variant.pack(choice->problem, variant, choice->weights); });
  step.roles[role_scale_bias] = packer_.add(program.plan, [=] { return variant.packed_scale_bias(choice->problem, choice->scale_bias); });
  if (variant.workspace_bytes > 0) {
    program.plan.buffers.push_back({.bytes = variant.workspace_bytes});
    step.roles[role_workspace] = static_cast<BufferId>(program.plan.buffers.size() - 1);
    step.writes.push_back(step.roles[role_workspace]);
  }
  step.launches = variant.launches;
}

// A kernel may begin before the one before it has ended, but none before the one before that has: what a step read last may be written
// over by the step after the next. A step that computes beside the one before it writes a step earlier.
void Network::plan_memory_of(Program& program) const {
  const auto& plan = program.plan;
  constexpr size_t never = std::numeric_limits<size_t>::max();
  std::vector<Lifetime> all(plan.buffers.size(), {0, never, 0});
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    for (const auto* ids : {&step.reads, &step.writes})
      for (BufferId id : *ids) {
        auto& lifetime = all[static_cast<size_t>(id)];
        lifetime.first = std::min(lifetime.first, step.beside_previous ? i - 1 : i);
        lifetime.last = std::max(lifetime.last, i);
      }
  }
  std::vector<Lifetime> used;
  std::vector<size_t> which;
  for (size_t b = 0; b < all.size(); ++b) {
    if (plan.buffers[b].kind != Buffer::Kind::arena || all[b].first == never) continue;
    all[b].bytes = plan.buffers[b].bytes;
    used.push_back(all[b]);
    which.push_back(b);
  }
  const MemoryPlan memory = plan_memory(used, arena_alignment);
  program.offsets.assign(plan.buffers.size(), 0);
  for (size_t i = 0; i < which.size(); ++i) program.offsets[which[i]] = memory.offsets[i];
  program.arena_bytes = memory.bytes;
}

// Each once, whichever programs read it. From then on the device alone has them.
void Network::place_constants() {
  std::map<std::shared_ptr<const std::vector<std::byte>>, cuda::Address> placed;
  for (auto& [batch, program] : programs_) {
    program.constants.assign(program.plan.buffers.size(), 0);
    for (size_t b = 0; b < program.plan.buffers.size(); ++b) {
      Buffer& buffer = program.plan.buffers[b];
      if (buffer.kind != Buffer::Kind::constant) continue;
      const auto [found, is_new] = placed.emplace(std::move(buffer.data), 0);
      buffer.data.reset();
      if (is_new) {
        constants_.emplace_back(buffer.bytes);
        found->second = constants_.back().address();
        cuda::upload(found->second, found->first->data(), buffer.bytes);
        weight_bytes_ += constants_.back().bytes();
      }
      program.constants[b] = found->second;
    }
  }
}

const Program* Network::program_for(int64_t samples) const {
  const auto it = programs_.lower_bound(samples);
  return it == programs_.end() ? nullptr : &it->second;
}

size_t Network::arena_bytes() const {
  size_t most = 0;
  for (const auto& [batch, program] : programs_) most = std::max(most, program.arena_bytes);
  return most;
}

PrecisionShares Network::precision_shares() const {
  PrecisionShares shares;
  if (programs_.empty()) return shares;
  double all = 0;
  const auto& macs = programs_.rbegin()->second.plan.macs;
  for (const auto& [precision, count] : macs) all += static_cast<double>(count);
  for (const auto& [precision, count] : macs) shares[precision] = static_cast<double>(count) / all;
  return shares;
}

}  // namespace deepgap::gpu
