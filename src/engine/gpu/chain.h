// Convolutions in a row as one kernel, so that what one makes is not read back from memory by the next, and not written where nobody else
// wants it. Two families: for sm_90a chains of which each but the first is 1x1 and reads the one before out of registers
// (kernels/chain.cuh); and inverted residuals (inverted_residual.h).
//
// Results are those of the convolutions one by one: with integers bit for bit.
#pragma once

#include "engine/gpu/convolution.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap::gpu {

struct Chain {
  struct Link {
    Convolution problem;
    bool stored = true;  // its result is wanted; of the last one always
  };
  std::vector<Link> links;            // two or three, in order
  std::optional<Convolution> branch;  // 1x1: makes the residual, which nothing else reads

  // Roles of the links in the kernel. The wide one may have a residual.
  const Link* head() const;
  const Link& wide() const;
  const Link* tail() const;
  const Convolution& adding() const;                 // the one with a residual; the wide one where there is none
  std::vector<const Convolution*> problems() const;  // links in order, then the branch
  // As in Convolution.
  std::string key() const;
  std::string key_before_batch() const;
  std::string key_behind_batch() const;

 private:
  size_t wide_index() const;
};

// Roles of the launch's buffers. chain_scale_bias: of each of problems() what role_scale_bias of convolution.h says, one after the other.
// chain_added: the residual, or what the branch reads. chain_targets: of the links, in order; -1 where one is not stored.
enum ChainRole : int { chain_source, chain_weights, chain_scale_bias, chain_added, chain_targets, chain_roles = chain_targets + 3 };

struct ChainTile {
  int teams = 2, blocks = 1;
  int chunk_groups = 1;  // groups of the wide one's columns that are computed at a time
  int source_stages = 2, added_stages = 4;
  int weight_stages = 0;  // size of the ring that brings weights chunk by chunk; 0: a block keeps all its weights in shared memory
};

// The work of one block of an inverted residual: h x w pixels, of which a thread convolves patches; `chunk` wide channels at a time.
struct InvertedTile {
  int h = 8, w = 8, patch_h = 2, patch_w = 4;
  int chunk = 32;  // a multiple of 16
  int warps = 4;   // 4 or 8
  int blocks = 1;  // on one multiprocessor
};

struct ChainVariant {
  std::string name;  // as of ConvolutionVariant
  Launch launch;
  // `weights` are ordered by problems(), as ConvolutionVariant::pack takes them.
  std::vector<std::byte> (*pack)(const Chain& chain, const ChainVariant& variant, std::span<const Tensor> weights) = nullptr;
  size_t packed_bytes = 0;
  ChainTile tile;         // tile of the chain's family
  InvertedTile inverted;  // likewise
};

// Returns variants of either family, fastest first by estimate; none if chip or shapes do not suit.
std::vector<ChainVariant> chain_variants(const Chain& chain, const Chip& chip);
ChainVariant variant_of(const Chain& chain, const ChainTile& tile, const Chip& chip);

// The plan for a chain under a tile: where things lie in shared memory, in bytes.
struct ChainPlan {
  ChainTile tile;
  bool plain = true;  // a tile is 64 pixels in a row; else rows of a padded image
  int padded_w = 0, region_rows = 0, row_regions = 0;
  int64_t tiles = 0;
  struct Source {  // sources of the first link and of the branch
    int step_bytes = 128, steps = 1, taps = 1;
    size_t piece_bytes = 0, box_bytes = 0;  // bytes of a step
    std::vector<uint32_t> box;              // box of a TMA copy
  } source, branch;
  struct Part {  // one for each of problems()
    int columns = 0, product_columns = 0;
    size_t weights_at = 0, weight_bytes = 0, chunk_bytes = 0;  // chunk_bytes: of what a chunk of the wide one's columns takes
    int table = 0;                                             // in floats
  };
  std::vector<Part> parts;
  size_t weight_bytes = 0, kept_weight_bytes = 0, weight_stage_bytes = 0;  // kept: in shared memory all the time
  size_t source_stage_bytes = 0, added_box_bytes = 0, added_stage_bytes = 0;
  size_t teams_at = 0, tables_at = 0, barriers_at = 0, shared_bytes = 0;
};
inline constexpr int chain_group_bytes = 64;  // bytes of a group's columns, as in kernels/chain.cuh
inline int bytes_of(Element element) { return static_cast<int>(byte_size(element)); }

// Returns nullopt if the kernel does not do the chain.
std::optional<ChainPlan> plan_of(const Chain& chain, const ChainTile& tile);
std::string chain_text(const Chain& chain, const ChainPlan& plan);
std::vector<std::byte> pack_chain(const Chain& chain, const ChainVariant& variant, std::span<const Tensor> weights);  // ChainVariant::pack

}  // namespace deepgap::gpu
