#include "engine/gpu/tuner.h"

#include "engine/gpu/bound_launch.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

namespace deepgap::gpu {
namespace {

constexpr size_t quick_candidates = 8;
constexpr int rounds = 3;                  // the fastest of them counts: what disturbs a kernel makes it slower
constexpr long long round_ns = 1'000'000;  // time that one round should take
constexpr int most_launches = 50;

size_t bytes_of(int64_t pixels, int64_t pitch, Element element) { return static_cast<size_t>(pixels * pitch) * byte_size(element); }

// Device memory that a problem's kernels read and write, of random bytes that are finite numbers.
struct Bench {
  std::vector<cuda::DeviceMemory> buffers;
  cuda::Stream stream;
  cuda::Event begin, end;

  // Fills the buffers, which are ordered by role.
  explicit Bench(const std::vector<size_t>& bytes) {
    for (const size_t each : bytes) fill(buffers.emplace_back(each));
  }
  // 0x2d2d is a small half and bfloat, 0x2d2d2d2d a small float; alternating bytes, since zeros and constants run faster than real data.
  void fill(const cuda::DeviceMemory& buffer) const {
    std::vector<unsigned char> pattern(std::min<size_t>(buffer.bytes(), size_t{1} << 20));
    unsigned state = 12345;
    for (unsigned char& byte : pattern) {
      state = state * 1664525U + 1013904223U;
      byte = static_cast<unsigned char>(0x20 | ((state >> 24) & 0x9f));
    }
    for (size_t at = 0; at < buffer.bytes(); at += pattern.size())
      cuda::upload(buffer.address() + at, pattern.data(), std::min(pattern.size(), buffer.bytes() - at));
  }
  template <typename Work>
  long long time_ns(const Work& work) const {
    begin.record(stream);
    work();
    end.record(stream);
    end.synchronize();
    return end.since_ns(begin);
  }
};

size_t source_bytes(const Convolution& p) { return bytes_of(p.batch * p.in_h * p.in_w, p.in_pitch, p.source); }
size_t target_bytes(const Convolution& p, Element element) { return bytes_of(p.batch * p.out_h * p.out_w, p.out_pitch, element); }
size_t table_bytes(const Convolution& p) { return 2 * static_cast<size_t>(p.out_pitch) * sizeof(float); }

std::vector<size_t> bench_bytes(const Convolution& p, size_t packed, size_t workspace) {
  return {source_bytes(p), packed, table_bytes(p), target_bytes(p, p.epilogue.residual), target_bytes(p, p.epilogue.target), workspace};
}
std::vector<size_t> bench_bytes(const Chain& chain, size_t packed) {
  std::vector<size_t> bytes(chain_roles, 0);
  bytes[chain_source] = source_bytes(chain.links[0].problem);
  bytes[chain_weights] = packed;
  for (const Convolution* p : chain.problems()) bytes[chain_scale_bias] += table_bytes(*p);
  bytes[chain_added] = chain.branch ? source_bytes(*chain.branch) : target_bytes(chain.adding(), chain.adding().epilogue.residual);
  for (size_t i = 0; i < chain.links.size(); ++i) {
    const Convolution& p = chain.links[i].problem;
    if (chain.links[i].stored) bytes[chain_targets + i] = target_bytes(p, p.epilogue.target);
  }
  return bytes;
}

// Recorded, as a network runs them: what a call of a library takes on the CPU is not paid again, and can be more than the kernel does.
long long measure(const Bench& bench, Kernels& kernels, const std::vector<Launch>& described) {
  std::vector<BoundLaunch> launches;
  for (const Launch& launch : described)
    launches.emplace_back(launch, kernels.function(launch),
                          [&](int role) { return bench.buffers.at(static_cast<size_t>(role)).address(); });
  const auto run = [&] {
    for (const BoundLaunch& launch : launches) launch.run(bench.stream.get());
  };
  run();  // brings its code to the device
  const long long once = std::max<long long>(bench.time_ns(run), 1);
  const int count = static_cast<int>(std::clamp<long long>(round_ns / once, 1, most_launches));
  const cuda::CudaGraph graph = cuda::CudaGraph::record(bench.stream, [&] {
    for (int i = 0; i < count; ++i) run();
  });
  long long best = std::numeric_limits<long long>::max();
  for (int round = 0; round < rounds; ++round) best = std::min(best, bench.time_ns([&] { graph.launch(bench.stream); }) / count);
  return best;
}

// A library that fails drops out; what is wrong with the device or its memory is nobody's alone.
std::optional<long long> measure_if_it_runs(const Bench& bench, Kernels& kernels, const ConvolutionVariant& variant) {
  try {
    return measure(bench, kernels, variant.launches);
  } catch (const Error& error) {
    if (!variant.calls_library() || error.kind() == ErrorKind::device_lost) throw;
    return std::nullopt;
  }
}

// The line of a winner that was found with libraries among the candidates. What our own kernels are worth has a line of its own, which
// counts where libraries are missing or not wanted.
std::string key_with_libraries(const Convolution& problem) { return problem.key() + " libraries"; }

// Its end where `name` is null, too.
template <typename Variants>
auto place_of(Variants& variants, const std::string* name) {
  return std::find_if(variants.begin(), variants.end(),
                      [&](const ConvolutionVariant& variant) { return name != nullptr && variant.name == *name; });
}

std::optional<ConvolutionVariant> found_by_name(const std::vector<ConvolutionVariant>& variants, const std::string* name) {
  const auto found = place_of(variants, name);
  return found == variants.end() ? std::nullopt : std::optional(*found);
}

void put_first(std::vector<ConvolutionVariant>& variants, const std::string* name) {
  if (const auto found = place_of(variants, name); found != variants.end()) std::rotate(variants.begin(), found, found + 1);
}

// FP16 and BF16 are the same work by the same kernels: what is fastest in one is a better guess in the other than the rule's.
Convolution in_other_16_bits(Convolution problem) {
  const auto change = [](auto& type) {
    using Type = std::remove_reference_t<decltype(type)>;
    if (type == Type::f16 || type == Type::bf16) type = type == Type::f16 ? Type::bf16 : Type::f16;
  };
  change(problem.compute);
  change(problem.source);
  change(problem.epilogue.residual);
  change(problem.epilogue.target);
  return problem;
}

}  // namespace

std::vector<ConvolutionVariant> Tuner::of_libraries(const Convolution& problem) const {
  return libraries_ == nullptr || problem.pool ? std::vector<ConvolutionVariant>{} : libraries_->variants(problem, chip_);
}

// Libraries are opened only where one of them won. Another version of it is measured against the fastest of our own.
std::vector<ConvolutionVariant> Tuner::known_winners(const Convolution& problem, const std::vector<ConvolutionVariant>& own) const {
  const auto of_own = found_by_name(own, known_.find(problem.key()));
  std::vector<ConvolutionVariant> winners;
  if (const std::string* name = libraries_ == nullptr ? nullptr : known_.find(key_with_libraries(problem))) {
    if (const auto found = found_by_name(own, name)) return {*found};
    winners = of_libraries(problem);
    if (const auto found = found_by_name(winners, name)) return {*found};
  }
  if (!of_own) return {};
  winners.insert(winners.begin(), *of_own);
  return winners;
}

// The fastest elsewhere is a better guess than the rule's, the likelier the more alike: in the other 16 bits, then at the nearest batch,
// then with another epilogue.
void Tuner::put_guesses_first(std::vector<ConvolutionVariant>& variants, const Convolution& problem) const {
  const Convolution other = in_other_16_bits(problem);
  const auto at_nearest_batch = [&](const Convolution& like) {
    return known_.find_nearest(like.key_before_batch(), like.batch, like.key_behind_batch());
  };
  Convolution bare = problem;  // its key is the beginning of those with any epilogue
  bare.epilogue.steps.clear();
  const std::string* at_other_epilogue = known_.find_beginning(bare.key());
  for (const std::string* guess : {at_other_epilogue, at_nearest_batch(other), at_nearest_batch(problem), known_.find(other.key())})
    put_first(variants, guess);
}

std::vector<ConvolutionVariant> Tuner::candidates(const Convolution& problem) const {
  auto all = convolution_variants(problem, chip_);
  // `full` is how winners are found: those that are known were measured among fewer, or with other kernels.
  if (tuning_ != Tuning::full) {
    if (auto winners = known_winners(problem, all); !winners.empty()) return winners;
    put_guesses_first(all, problem);
  }
  const size_t most = tuning_ == Tuning::off ? 1 : tuning_ == Tuning::quick ? quick_candidates : all.size();
  if (all.size() > most) all.resize(most);
  for (ConvolutionVariant& variant : of_libraries(problem)) all.push_back(std::move(variant));
  return all;
}

Tuner::Chosen Tuner::best_of(const Convolution& problem, std::vector<ConvolutionVariant> variants) {
  std::erase_if(variants, [&](const ConvolutionVariant& variant) {
    return std::any_of(variant.launches.begin(), variant.launches.end(), [&](const Launch& launch) { return !kernels_.compiles(launch); });
  });
  if (variants.empty()) return {};
  if (variants.size() == 1) return {variants[0].name, {}};
  size_t packed = 0, workspace = 0;
  for (const auto& variant : variants) {
    packed = std::max(packed, variant.packed_bytes);
    workspace = std::max(workspace, variant.workspace_bytes);
  }
  const Bench bench(bench_bytes(problem, packed, workspace));
  Chosen chosen;
  long long best_ns = std::numeric_limits<long long>::max(), own_ns = best_ns;
  bool libraries = false;
  for (const ConvolutionVariant& variant : variants) {
    const auto ns = measure_if_it_runs(bench, kernels_, variant);
    if (!ns) continue;
    libraries = libraries || variant.calls_library();
    if (*ns < best_ns) chosen.best = variant.name, best_ns = *ns;
    if (*ns < own_ns && !variant.calls_library()) chosen.own = variant.name, own_ns = *ns;
  }
  if (!chosen.own.empty()) known_.add(problem.key(), chosen.own, own_ns);
  if (libraries) known_.add(key_with_libraries(problem), chosen.best, best_ns);
  return chosen;
}

ConvolutionVariant Tuner::named(const Convolution& problem, const Chosen& chosen) const {
  const std::vector<ConvolutionVariant> own = convolution_variants(problem, chip_);
  if (auto found = found_by_name(own, &chosen.best)) return *found;
  if (auto found = found_by_name(of_libraries(problem), &chosen.best)) return *found;
  if (auto found = found_by_name(own, chosen.own.empty() ? known_.find(problem.key()) : &chosen.own)) return *found;
  return problem.pool ? own.at(0) : direct_variants(problem, chip_).at(0);
}

namespace {

// A chain's winner where its parts are faster one by one.
constexpr std::string_view by_parts = "parts";

Chain in_other_16_bits(const Chain& chain) {
  Chain other = chain;
  for (Chain::Link& link : other.links) link.problem = in_other_16_bits(link.problem);
  if (other.branch) other.branch = in_other_16_bits(*other.branch);
  return other;
}

}  // namespace

Tuner::KnownChain Tuner::known(const Chain& chain) const {
  const std::string* winner = tuning_ == Tuning::full ? nullptr : known_.find(chain.key());
  const auto at_nearest_batch = [&](const Chain& like) {
    return known_.find_nearest(like.key_before_batch(), like.links[0].problem.batch, like.key_behind_batch());
  };
  if (winner == nullptr && tuning_ == Tuning::off) {
    const Chain other = in_other_16_bits(chain);
    winner = known_.find(other.key());
    if (winner == nullptr) winner = at_nearest_batch(chain);
    if (winner == nullptr) winner = at_nearest_batch(other);
  }
  KnownChain known{.is_known = tuning_ == Tuning::off || (winner != nullptr && *winner == by_parts), .kernel = {}};
  if (winner == nullptr || *winner == by_parts) return known;
  for (ChainVariant& variant : chain_variants(chain, chip_))
    if (variant.name == *winner) return {.is_known = true, .kernel = std::move(variant)};
  return known;
}

long long Tuner::time_of(const Convolution& problem, const ConvolutionVariant& variant) {
  return measure(Bench(bench_bytes(problem, variant.packed_bytes, variant.workspace_bytes)), kernels_, variant.launches);
}

const std::optional<Tuner::MeasuredChain>& Tuner::measured(const Chain& chain, const std::vector<ConvolutionVariant>& parts) {
  constexpr size_t quick_chains = 6;
  const auto [it, is_new] = measured_.try_emplace(chain.key());
  if (!is_new) return it->second;
  std::vector<ChainVariant> variants = chain_variants(chain, chip_);
  if (tuning_ == Tuning::quick && variants.size() > quick_chains) variants.resize(quick_chains);
  std::vector<const Launch*> launches;
  for (const ChainVariant& variant : variants) launches.push_back(&variant.launch);
  for (const ConvolutionVariant& part : parts)
    for (const Launch& launch : part.launches) launches.push_back(&launch);
  kernels_.prepare(launches);
  std::erase_if(variants, [&](const ChainVariant& variant) { return !kernels_.compiles(variant.launch); });
  const auto problems = chain.problems();
  long long of_parts = 0;
  for (size_t i = 0; i < problems.size(); ++i) of_parts += time_of(*problems[i], parts[i]);
  for (const ChainVariant& variant : variants) {
    const long long ns = measure(Bench(bench_bytes(chain, variant.packed_bytes)), kernels_, {variant.launch});
    if (ns < (it->second ? it->second->ns : of_parts)) it->second = MeasuredChain{variant, ns, of_parts - ns};
  }
  return it->second;
}

void Tuner::remember(const Chain& chain, bool taken) {
  const auto found = measured_.find(chain.key());
  if (found == measured_.end()) return;
  known_.add(chain.key(), taken ? found->second->variant.name : std::string(by_parts), found->second ? found->second->ns : 0);
  known_.save();
}

std::vector<ConvolutionVariant> Tuner::choose(const std::vector<Convolution>& problems) {
  std::map<std::string, std::vector<ConvolutionVariant>> offered;
  std::vector<const Launch*> launches;
  for (const Convolution& problem : problems) {
    const auto [it, is_new] = offered.try_emplace(problem.key());
    if (!is_new) continue;
    it->second = candidates(problem);
    for (const ConvolutionVariant& variant : it->second)
      for (const Launch& launch : variant.launches) launches.push_back(&launch);
  }
  kernels_.prepare(launches);
  // Choices are kept by name: texts hold numbers, such as scales, that problems of one key do not share.
  std::map<std::string, Chosen> chosen;
  std::vector<ConvolutionVariant> result;
  for (const Convolution& problem : problems) {
    const std::string key = problem.key();
    if (!chosen.contains(key)) chosen[key] = best_of(problem, offered.at(key));
    result.push_back(named(problem, chosen.at(key)));
  }
  known_.save();
  return result;
}

}  // namespace deepgap::gpu
