// Chooses which chains of a Network's steps become kernels of their own.
#include "engine/gpu/network.h"

#include <algorithm>
#include <set>

namespace deepgap::gpu {
namespace {

// Steps with others in their place: those of chains go, and their chain's comes before the step at `place`.
class Joining {
 public:
  explicit Joining(size_t steps) : before_(steps), gone_(steps) {}
  void join(const FoundChain& found, Step step) {
    before_[found.place].push_back(std::move(step));
    for (const size_t i : found.steps) gone_[i] = true;
  }
  bool is_gone(size_t i) const { return gone_[i]; }
  void apply(std::vector<Step>& steps) {
    std::vector<Step> all;
    for (size_t i = 0; i < steps.size(); ++i) {
      for (Step& step : before_[i]) all.push_back(std::move(step));
      if (!gone_[i]) all.push_back(std::move(steps[i]));
    }
    steps = std::move(all);
  }

 private:
  std::vector<std::vector<Step>> before_;
  std::vector<bool> gone_;
};

}  // namespace

void Network::join_known_chains(Program& program, Tuner& tuner) {
  Joining joining(program.plan.steps.size());
  ChainFinder finder(program.plan, chip_);
  for (FoundChain& found : finder.candidates())
    if (const auto known = tuner.known(found.chain); known.kernel && finder.take(found))
      joining.join(found, settled(program, found, *known.kernel));
  joining.apply(program.plan.steps);
}

// Nothing where it is known without, or its parts are faster.
const Tuner::MeasuredChain* Network::measured(Tuner& tuner, const FoundChain& found, const Chosen& chosen) {
  if (tuner.known(found.chain).is_known) return nullptr;
  std::vector<ConvolutionVariant> parts;
  for (const size_t i : found.steps) parts.push_back(chosen[i].value());
  const auto& measured = tuner.measured(found.chain, parts);
  return measured ? &*measured : nullptr;
}

void Network::settle_all(Program& program, Tuner& tuner, const Chosen& chosen) {
  std::vector<Step>& steps = program.plan.steps;
  Joining joining(steps.size());
  ChainFinder finder(program.plan, chip_);
  std::vector<std::pair<FoundChain, const Tuner::MeasuredChain*>> quicker;
  for (FoundChain& found : finder.candidates()) {
    if (const auto* chain = measured(tuner, found, chosen))
      quicker.emplace_back(std::move(found), chain);
    else
      tuner.remember(found.chain, false);
  }
  // If two chains have steps in common, the one that saves more comes first.
  std::stable_sort(quicker.begin(), quicker.end(), [](const auto& a, const auto& b) { return a.second->saved_ns > b.second->saved_ns; });
  std::set<std::string> taken;
  for (auto& [found, chain] : quicker) {
    const bool takes = finder.take(found);
    if (takes) joining.join(found, settled(program, found, chain->variant));
    if (takes) taken.insert(found.chain.key());
    if (takes || !taken.contains(found.chain.key())) tuner.remember(found.chain, takes);
  }
  for (size_t i = 0; i < steps.size(); ++i)
    if (chosen[i] && !joining.is_gone(i)) settle(program, steps[i], *chosen[i]);
  joining.apply(steps);
}

Step Network::settled(Program& program, const FoundChain& found, const ChainVariant& variant) {
  Step step = joined_step(program.plan, found);
  std::vector<Tensor> weights;
  std::vector<std::byte> scale_bias;
  for (const size_t i : found.steps) {
    const Choice& choice = *program.plan.steps[i].choice;
    weights.push_back(choice.weights);
    const auto* from = reinterpret_cast<const std::byte*>(choice.scale_bias.data());
    scale_bias.insert(scale_bias.end(), from, from + choice.scale_bias.size() * sizeof(float));
  }
  step.roles[chain_weights] =
      packer_.add(program.plan, [=, chain = found.chain, weights = std::move(weights)] { return variant.pack(chain, variant, weights); });
  step.roles[chain_scale_bias] = packer_.add(program.plan, [scale_bias = std::move(scale_bias)] { return scale_bias; });
  step.launches = {variant.launch};
  return step;
}

}  // namespace deepgap::gpu
