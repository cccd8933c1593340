// Chains of convolutions, their text compiled for the host (hopper_words.h), against the same convolutions one by one, by the kernels of
// the family `wgmma`: integers bit for bit.
#include "guarded_memory.h"
#include "hopper_cases.h"
#include "host_compiler.h"
#include "plain_convolution.h"

#include "engine/gpu/chain.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/test_kernels.h"
#include "engine/gpu/wgmma.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <deque>

namespace deepgap::gpu {
namespace {

const Chip little_chip{90, 3, 227 << 10};

// One of ResNet's layers: its own rounding where a residual is added, nothing below 0.
Convolution layer(ComputeType compute, int64_t size, int64_t in, int64_t out, int64_t kernel, bool adds) {
  Convolution p = test_convolution(compute, {.size = size, .in = in, .out = out, .kernel = kernel});
  p.batch = 3;
  if (compute == ComputeType::i8) p.source = p.epilogue.target = p.epilogue.residual = Element::u8;
  p.epilogue.steps.clear();
  if (adds && compute == ComputeType::i8) p.epilogue.steps.push_back(EpilogueStep::rounded(0.3F, 128, Element::u8));
  if (adds) p.epilogue.steps.push_back(EpilogueStep::of(EpilogueStep::Kind::add));
  p.epilogue.steps.push_back(EpilogueStep::clamped(0, INFINITY));
  return p;
}

struct Case {
  Chain chain;
  ChainTile tile;
};

std::string chain_host_text(const Case& one, const Launch& launch, size_t number) {
  std::string text = without_device_words(launch.source), products;
  cut_all_functions(text, "float unit_of");
  replace_once(text, "extern \"C\" __global__", "static");
  const auto add = [&](std::string_view name, const Convolution& p) {
    const std::string_view a = type_text(p.source), b = p.compute == ComputeType::i8 ? std::string_view("I8") : a;
    products += fmt::format(
        "namespace {0} {{\ntemplate <typename S, int N> static void product(S (&d)[N], u64 a, u64 b, int add) {{ play_product<{1}, {2}>(d, "
        "a, b, "
        "add); }}\ntemplate <typename S, int N> static void product_of_registers(S (&d)[N], const unsigned (&a)[4], u64 b, int add) {{ "
        "play_product_of_registers<{1}, {2}>(d, a, b, add); }}\n}}\n",
        name, a, b);
  };
  const Chain& chain = one.chain;
  if (chain.head() != nullptr) add("head", chain.head()->problem);
  add("wide", chain.wide().problem);
  if (chain.tail() != nullptr) add("tail", chain.tail()->problem);
  if (chain.branch) add("branch", *chain.branch);
  return fmt::format("namespace c_{} {{\n", number) + products + text +
         fmt::format(
             "}}\nextern \"C\" const char* chain_{0}(const unsigned* grid, void** p) {{ return run_blocks(grid, {1}, [&] {{ "
             "c_{0}::chain(*(Map*)p[0], "
             "*(Map*)p[1], (const unsigned char*)p[2], (const float*)p[3], (unsigned char*)p[4], (unsigned char*)p[5], (unsigned "
             "char*)p[6]); }}); "
             "}}\n",
             number, launch.block[0]);
}

// A convolution of the chain as a kernel of its own.
struct Part {
  Convolution problem;
  ConvolutionVariant variant;
  Tensor weights;
  std::vector<float> scale_bias;
  GuardedMemory packed, target;

  static ConvolutionVariant by_itself(const Convolution& p) {
    WgmmaTile tile;
    tile.columns = 64;
    tile.stages = 3;
    return variant_of(p, tile, little_chip);
  }
  static size_t target_bytes(const Convolution& p) {
    return static_cast<size_t>(p.batch * p.out_h * p.out_w * p.out_pitch) * byte_size(p.epilogue.target);
  }
  Part(const Convolution& p, RandomStream& random)
      : problem(p),
        variant(by_itself(p)),
        weights(weights_of(p, random)),
        scale_bias(scale_bias_of(p, random)),
        packed(variant.packed_bytes),
        target(target_bytes(p)) {
    const std::vector<std::byte> bytes = variant.pack(p, variant, weights);
    std::memcpy(packed.begin(), bytes.data(), bytes.size());
  }
};

class Trial {
 public:
  Trial(const Case& one, size_t number) : one_(one), number_(number), chained_(variant_of(one.chain, one.tile, little_chip)) {
    for (const Convolution* p : one.chain.problems()) parts_.emplace_back(*p, random_);
  }
  std::string text() const {
    std::string all = chain_host_text(one_, chained_.launch, number_);
    for (size_t i = 0; i < parts_.size(); ++i) all += host_text(parts_[i].problem, parts_[i].variant.launches.at(0), name_of(i));
    return all;
  }
  // What is wrong.
  std::string run(const HostLibrary& library) {
    const Chain& chain = one_.chain;
    const Convolution &first = chain.links[0].problem, &wide = chain.wide().problem;
    GuardedMemory source(bytes_of(first)), added(chain.branch ? bytes_of(*chain.branch) : Part::target_bytes(wide));
    fill(source.begin(), first.source, static_cast<int64_t>(bytes_of(first) / byte_size(first.source)), random_);
    const Element of_added = chain.branch ? chain.branch->source : wide.epilogue.residual;
    fill(added.begin(), of_added,
         static_cast<int64_t>((chain.branch ? bytes_of(*chain.branch) : Part::target_bytes(wide)) / byte_size(of_added)), random_);
    const size_t links = chain.links.size();
    if (chain.branch)
      if (std::string wrong = run_part(library, links, added.begin(), nullptr); !wrong.empty()) return wrong;
    const std::byte* from = source.begin();
    for (size_t i = 0; i < links; ++i) {
      const bool is_wide = &chain.links[i] == &chain.wide();
      const std::byte* residual = is_wide ? chain.branch ? parts_[links].target.begin() : added.begin() : nullptr;
      if (std::string wrong = run_part(library, i, from, residual); !wrong.empty()) return wrong;
      from = parts_[i].target.begin();
    }
    return run_chain(library, source.begin(), added.begin());
  }

 private:
  static size_t bytes_of(const Convolution& p) { return static_cast<size_t>(p.batch * p.in_h * p.in_w * p.in_pitch) * byte_size(p.source); }
  std::string name_of(size_t part) const { return fmt::format("{}_{}", number_, part); }
  std::string run_part(const HostLibrary& library, size_t index, const std::byte* from, const std::byte* residual) {
    Part& part = parts_[index];
    const Launch& launch = part.variant.launches.at(0);
    HostMap map = map_of(launch.arguments[0], from);
    std::array<void*, 5> arguments{&map, part.packed.begin(), part.scale_bias.data(), part.target.begin(),
                                   const_cast<std::byte*>(residual)};
    const char* wrong = library.function<Run>("run_" + name_of(index))(launch.grid.data(), arguments.data());
    return wrong == nullptr ? std::string() : fmt::format("part {}: {}", index, wrong);
  }
  std::string run_chain(const HostLibrary& library, const std::byte* source, const std::byte* added) {
    const Chain& chain = one_.chain;
    std::vector<Tensor> weights;
    std::vector<float> scale_bias;
    for (const Part& part : parts_) {
      weights.push_back(part.weights);
      scale_bias.insert(scale_bias.end(), part.scale_bias.begin(), part.scale_bias.end());
    }
    GuardedMemory packed(chained_.packed_bytes);
    const std::vector<std::byte> bytes = chained_.pack(chain, chained_, weights);
    std::memcpy(packed.begin(), bytes.data(), bytes.size());
    const Launch& launch = chained_.launch;
    HostMap source_map = map_of(launch.arguments[0], source), added_map = map_of(launch.arguments[1], added);
    std::array<void*, 7> arguments{&source_map, &added_map, packed.begin(), scale_bias.data(), nullptr, nullptr, nullptr};
    std::deque<GuardedMemory> targets;
    const size_t first = chain.head() != nullptr ? 0 : 1;
    for (size_t i = 0; i < chain.links.size(); ++i)
      if (chain.links[i].stored) arguments[4 + first + i] = targets.emplace_back(Part::target_bytes(chain.links[i].problem)).begin();
    if (const char* wrong = library.function<Run>(fmt::format("chain_{}", number_))(launch.grid.data(), arguments.data()); wrong != nullptr)
      return wrong;
    for (size_t i = 0; i < chain.links.size(); ++i)
      if (chain.links[i].stored)
        if (std::string wrong = different(i, static_cast<const std::byte*>(arguments[4 + first + i])); !wrong.empty()) return wrong;
    return {};
  }
  // Numbers of 16 bits are rounded before they are read again, of sums in another order.
  std::string different(size_t link, const std::byte* found) const {
    const Convolution& p = parts_[link].problem;
    const Element element = p.epilogue.target;
    for (int64_t i = 0; i < p.batch * p.out_h * p.out_w * p.out_pitch; ++i) {
      if (i % p.out_pitch >= p.out_channels) continue;
      const double here = number_at(found, element, i), right = number_at(parts_[link].target.begin(), element, i);
      if (!(std::fabs(here - right) <= (byte_size(element) == 1 ? 0 : 4 * allowed(element, right))))
        return fmt::format("link {}: {} instead of {} in row {}, column {}", link, here, right, i / p.out_pitch, i % p.out_pitch);
    }
    return {};
  }

  const Case& one_;
  size_t number_;
  ChainVariant chained_;
  RandomStream random_{11, "chains"};
  std::deque<Part> parts_;
};

void expect_right(const std::vector<Case>& cases) {
  std::deque<Trial> trials;
  std::string text;
  for (const Case& one : cases) {
    ASSERT_TRUE(plan_of(one.chain, one.tile)) << one.chain.key();
    text += trials.emplace_back(one, trials.size()).text();
  }
  const HostLibrary library(hopper_host(), text);
  for (size_t i = 0; i < trials.size(); ++i) EXPECT_EQ(trials[i].run(library), "") << "case " << i << ": " << cases[i].chain.key();
}

Chain chain_of(std::vector<Chain::Link> links) { return {.links = std::move(links), .branch = {}}; }

// 3x3, 1x1 with a residual, 1x1; pictures whose rows do not fill a tile, and more tiles than teams.
TEST(EmulatedChains, OfThreeAreRight) {
  for (const ComputeType compute : {ComputeType::i8, ComputeType::f16}) {
    const Chain whole = chain_of(
        {{layer(compute, 14, 32, 64, 3, false), false}, {layer(compute, 14, 64, 128, 1, true)}, {layer(compute, 14, 128, 64, 1, false)}});
    Chain inner = whole;
    inner.links[0].stored = true, inner.links[1].stored = false;
    expect_right({{whole, {.teams = 2, .chunk_groups = 1, .source_stages = 2, .added_stages = 3}},
                  {inner, {.teams = 3, .chunk_groups = 2, .source_stages = 1, .added_stages = 2}}});
  }
}

TEST(EmulatedChains, OfTwoAreRight) {
  for (const ComputeType compute : {ComputeType::i8, ComputeType::bf16}) {
    const Chain wide_first = chain_of({{layer(compute, 9, 160, 256, 1, true)}, {layer(compute, 9, 256, 64, 1, false)}});
    const Chain wide_last = chain_of({{layer(compute, 20, 64, 64, 3, false), false}, {layer(compute, 20, 64, 192, 1, true)}});
    const Chain plain = chain_of({{layer(compute, 9, 64, 64, 1, false), false}, {layer(compute, 9, 64, 128, 1, false)}});
    expect_right({{wide_first, {.teams = 2, .chunk_groups = 2, .source_stages = 2, .added_stages = 5}},
                  {wide_last, {.teams = 1, .chunk_groups = 1, .source_stages = 2, .added_stages = 2}},
                  {plain, {.teams = 2, .chunk_groups = 1, .source_stages = 2, .added_stages = 0}}});
  }
}

// The weights come through a ring that all teams of a block read; in the last round the first team alone has a tile.
TEST(EmulatedChains, WithARingOfWeightsAreRight) {
  for (const ComputeType compute : {ComputeType::i8, ComputeType::f16}) {
    const Chain pair = chain_of({{layer(compute, 20, 64, 192, 1, true)}, {layer(compute, 20, 192, 96, 1, false)}});
    const Chain without_residual = chain_of({{layer(compute, 9, 96, 128, 1, false), false}, {layer(compute, 9, 128, 64, 1, false)}});
    Chain branched = pair;
    branched.branch = layer(compute, 20, 96, 192, 1, false);
    expect_right({{pair, {.teams = 3, .chunk_groups = 1, .source_stages = 1, .added_stages = 2, .weight_stages = 3}},
                  {without_residual, {.teams = 2, .chunk_groups = 2, .source_stages = 2, .added_stages = 0, .weight_stages = 4}},
                  {branched, {.teams = 2, .chunk_groups = 1, .source_stages = 2, .added_stages = 1, .weight_stages = 2}}});
  }
}

// The residual is a convolution of its own.
TEST(EmulatedChains, WithABranchAreRight) {
  Chain chain = chain_of({{layer(ComputeType::i8, 14, 64, 64, 3, false), false},
                          {layer(ComputeType::i8, 14, 64, 128, 1, true)},
                          {layer(ComputeType::i8, 14, 128, 64, 1, false)}});
  chain.branch = layer(ComputeType::i8, 14, 96, 128, 1, false);
  Chain pointwise = chain_of({{layer(ComputeType::i8, 14, 64, 128, 1, true)}, {layer(ComputeType::i8, 14, 128, 64, 1, false)}});
  pointwise.branch = chain.branch;
  expect_right({{chain, {.teams = 2, .chunk_groups = 1, .source_stages = 2, .added_stages = 2}},
                {pointwise, {.teams = 2, .chunk_groups = 2, .source_stages = 2, .added_stages = 1}}});
}

// Channels that fill no group, in what is passed on and in what is stored.
TEST(EmulatedChains, OfOddChannelsAreRight) {
  const Chain odd = chain_of({{layer(ComputeType::i8, 10, 48, 24, 3, false)},
                              {layer(ComputeType::i8, 10, 24, 90, 1, true)},
                              {layer(ComputeType::i8, 10, 90, 36, 1, false)}});
  const Chain halves = chain_of({{layer(ComputeType::f16, 10, 192, 24, 1, true)}, {layer(ComputeType::f16, 10, 24, 144, 1, false)}});
  expect_right({{odd, {.teams = 2, .chunk_groups = 1, .source_stages = 2, .added_stages = 2}},
                {halves, {.teams = 2, .chunk_groups = 1, .source_stages = 2, .added_stages = 2}}});
}

}  // namespace
}  // namespace deepgap::gpu
