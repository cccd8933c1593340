#include "engine/gpu/find_chains.h"

#include <algorithm>

namespace deepgap::gpu {
namespace {

template <typename T>
bool contains(const std::vector<T>& all, T one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

ChainFinder::ChainFinder(const GpuPlan& plan, const Chip& chip)
    : plan_(plan), chip_(chip), readers_(plan.buffers.size()), writer_(plan.buffers.size()) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (const BufferId id : plan.steps[i].reads) readers_[static_cast<size_t>(id)].push_back(i);
    for (const BufferId id : plan.steps[i].writes) writer_[static_cast<size_t>(id)] = i;
  }
}

// The longest run that begins with each step; what is shorter but may be faster begins with the next one.
std::vector<FoundChain> ChainFinder::candidates() const {
  std::vector<FoundChain> all;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const auto second = step(i).choice ? next_of(i) : std::nullopt, third = second ? next_of(*second) : std::nullopt;
    auto found = third ? chain_of({i, *second, *third}) : std::nullopt;
    if (!found && second) found = chain_of({i, *second});
    if (found) all.push_back(std::move(*found));
  }
  return all;
}

bool ChainFinder::take(FoundChain& found) {
  if (std::any_of(found.steps.begin(), found.steps.end(), [&](size_t i) { return moved_.contains(i); }) || !set_place(found)) return false;
  for (const size_t i : found.steps) moved_[i] = static_cast<int64_t>(found.place);
  return true;
}

BufferId ChainFinder::target_of(size_t i) const { return step(i).roles[role_target]; }

// The step that goes on with what `i` makes, as its first factor: pixel by pixel, or channel by channel.
std::optional<size_t> ChainFinder::next_of(size_t i) const {
  for (const size_t reader : readers_[static_cast<size_t>(target_of(i))]) {
    const Step& next = step(reader);
    if (!next.choice || next.roles[role_source] != target_of(i) || next.roles[role_residual] == target_of(i)) continue;
    const Convolution& p = next.choice->problem;
    const bool by_channels = p.groups > 1 && p.groups == p.in_channels;
    if (by_channels || (p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 && p.stride_w == 1)) return reader;
  }
  return std::nullopt;
}

// Returns whether anyone but `steps` wants what `i` makes.
bool ChainFinder::is_stored(size_t i, const std::vector<size_t>& steps) const {
  if (plan_.buffers[static_cast<size_t>(target_of(i))].kind != Buffer::Kind::arena) return true;
  const auto& readers = readers_[static_cast<size_t>(target_of(i))];
  return std::any_of(readers.begin(), readers.end(), [&](size_t reader) { return !contains(steps, reader); });
}

// The step that makes the residual of `wide`, for nobody else.
std::optional<size_t> ChainFinder::branch_of(size_t wide) const {
  const BufferId residual = step(wide).roles[role_residual];
  if (residual < 0 || plan_.buffers[static_cast<size_t>(residual)].kind != Buffer::Kind::arena) return std::nullopt;
  const auto maker = writer_[static_cast<size_t>(residual)];
  if (!maker || !step(*maker).choice || readers_[static_cast<size_t>(residual)].size() != 1) return std::nullopt;
  return maker;
}

// Returns where a step's work is done: a chain that was taken stands before the step of that number.
int64_t ChainFinder::begin_of(size_t i) const { return moved_.contains(i) ? moved_.at(i) - 1 : static_cast<int64_t>(i); }
int64_t ChainFinder::end_of(size_t i) const { return moved_.contains(i) ? moved_.at(i) : static_cast<int64_t>(i); }

// Places the chain behind the makers of all that it reads, and before the other readers of what it makes.
bool ChainFinder::set_place(FoundChain& found) const {
  int64_t first = 0, last = static_cast<int64_t>(*std::max_element(found.steps.begin(), found.steps.end()));
  for (const size_t i : found.steps) {
    for (const BufferId id : step(i).reads)
      if (const auto maker = writer_[static_cast<size_t>(id)]; maker && !contains(found.steps, *maker))
        first = std::max(first, end_of(*maker) + 1);
    for (const size_t reader : readers_[static_cast<size_t>(target_of(i))])
      if (!contains(found.steps, reader)) last = std::min(last, begin_of(reader));
  }
  found.place = static_cast<size_t>(std::max<int64_t>(last, 0));
  return first <= last;
}

std::optional<FoundChain> ChainFinder::chain_of(const std::vector<size_t>& steps) const {
  FoundChain found;
  found.steps = steps;
  for (const size_t i : steps) found.chain.links.push_back({step(i).choice->problem, is_stored(i, steps)});
  found.chain.links.back().stored = true;
  const size_t wide = steps[static_cast<size_t>(&found.chain.wide() - found.chain.links.data())];
  if (const auto branch = branch_of(wide); branch && !contains(steps, *branch)) {
    FoundChain with = found;
    with.steps.push_back(*branch);
    with.chain.branch = step(*branch).choice->problem;
    if (set_place(with) && !chain_variants(with.chain, chip_).empty()) return with;
  }
  if (set_place(found) && !chain_variants(found.chain, chip_).empty()) return found;
  return std::nullopt;
}

Step joined_step(const GpuPlan& plan, const FoundChain& found) {
  const Chain& chain = found.chain;
  Step joined{.name = {}, .op = plan.steps[found.steps[0]].op};
  joined.roles.assign(chain_roles, -1);
  for (const size_t i : found.steps) {
    const Step& part = plan.steps[i];
    joined.name += (joined.name.empty() ? "" : "+") + part.name;
    for (const BufferId id : part.reads)
      if (!contains(joined.reads, id)) joined.reads.push_back(id);
  }
  const auto target = [&](size_t i) { return plan.steps[found.steps[i]].roles[role_target]; };
  for (size_t i = 0; i < chain.links.size(); ++i) {
    if (!chain.links[i].stored) continue;
    joined.roles[chain_targets + i] = target(i);
    joined.writes.push_back(target(i));
  }
  for (size_t i = 0; i < found.steps.size(); ++i) std::erase(joined.reads, target(i));
  joined.roles[chain_source] = plan.steps[found.steps[0]].roles[role_source];
  for (size_t i = 0; i < chain.links.size(); ++i)
    if (chain.links[i].problem.epilogue.has_residual()) joined.roles[chain_added] = plan.steps[found.steps[i]].roles[role_residual];
  if (chain.branch) joined.roles[chain_added] = plan.steps[found.steps.back()].roles[role_source];
  return joined;
}

}  // namespace deepgap::gpu
