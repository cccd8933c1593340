#include "model/translated_nodes.h"

#include "model/eval/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

void set_pads(NodeWindow& w, const Ints& given, const std::string& automatic) {
  for (size_t i = 0; i < w.rank(); ++i) {
    if (automatic == "NOTSET") {
      w.begins[i] = given[i];
      w.ends[i] = given[i + w.rank()];
    } else if (automatic != "VALID") {
      const int64_t total = std::max<int64_t>((w.out[i] - 1) * w.strides[i] + w.extent(i) - w.in[i], 0);
      w.begins[i] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
      w.ends[i] = total - w.begins[i];
    }
  }
}

int64_t block_of(const NodeReader& reader) {
  const int64_t block = reader.int_of("blocksize", 0);
  if (block < 1 || reader.shape(0).size() != 4) reader.refuse(fmt::format("blocksize {} of {} dimensions", block, reader.shape(0).size()));
  return block;
}

}  // namespace

NodeWindow node_window(const NodeReader& reader, const Ints& kernel) {
  const Shape in = reader.shape(0), out = reader.output_shape();
  const size_t rank = kernel.size();
  if (in.size() != rank + 2 || rank < 1 || rank > 3) reader.refuse(fmt::format("an input of {} dimensions", in.size()));
  NodeWindow w{.kernel = kernel,
               .strides = reader.ints_of("strides", Ints(rank, 1)),
               .dilations = reader.ints_of("dilations", Ints(rank, 1)),
               .begins = Ints(rank, 0),
               .ends = Ints(rank, 0),
               .in = Ints(in.begin() + 2, in.end()),
               .out = Ints(out.begin() + 2, out.end())};
  const Ints pads = reader.ints_of("pads", Ints(2 * rank, 0));
  if (w.strides.size() != rank || w.dilations.size() != rank || pads.size() != 2 * rank)
    reader.refuse("strides, dilations or pads of the wrong number");
  set_pads(w, pads, reader.text_of("auto_pad", "NOTSET"));
  return w;
}

Tensor counted_taps(const NodeWindow& w, bool counts_padding) {
  std::vector<std::vector<float>> counts(w.rank());  // along each dimension
  for (size_t i = 0; i < w.rank(); ++i) {
    const int64_t low = counts_padding ? -w.begins[i] : 0, high = w.in[i] + (counts_padding ? w.ends[i] : 0);
    for (int64_t o = 0; o < w.out[i]; ++o) {
      int64_t count = 0;
      for (int64_t k = 0; k < w.kernel[i]; ++k) {
        const int64_t at = o * w.strides[i] - w.begins[i] + k * w.dilations[i];
        count += at >= low && at < high ? 1 : 0;
      }
      counts[i].push_back(static_cast<float>(count));
    }
  }
  Tensor made = make_tensor(DataType::f32, w.out);
  const auto values = writable<float>(made);
  for (size_t n = 0; n < values.size(); ++n) {
    values[n] = 1;
    size_t left = n;
    for (size_t i = w.rank(); i-- > 0; left /= static_cast<size_t>(w.out[i])) values[n] *= counts[i][left % static_cast<size_t>(w.out[i])];
  }
  return made;
}

NodePads node_pads(const NodeReader& reader) {
  const size_t rank = reader.shape(0).size();
  const Ints given = reader.ints_or_input("pads", 1, {});
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (reader.has(3)) axes = reader.integers(3);
  if (given.size() != 2 * axes.size()) reader.refuse("pads of the wrong number");
  NodePads pads{Ints(rank, 0), Ints(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(reader.axis(axes[i], rank));
    pads.begins[axis] = given[i];
    pads.ends[axis] = given[i + axes.size()];
  }
  return pads;
}

// Depth, column, row or column, row, depth: whether a block lies along the channels or within each.
BlockMoves depth_to_space_moves(const NodeReader& reader) {
  const int64_t block = block_of(reader);
  const Shape in = reader.shape(0), out = reader.output_shape();
  if (reader.text_of("mode", "DCR") == "CRD") return {{in[0], out[1], block, block, in[2], in[3]}, {0, 1, 4, 2, 5, 3}};
  return {{in[0], block, block, out[1], in[2], in[3]}, {0, 3, 4, 1, 5, 2}};
}

BlockMoves space_to_depth_moves(const NodeReader& reader) {
  const int64_t block = block_of(reader);
  const Shape in = reader.shape(0), out = reader.output_shape();
  return {{in[0], in[1], out[2], block, out[3], block}, {0, 3, 5, 1, 2, 4}};
}

Ints spatial_axes(const NodeReader& reader) {
  const size_t rank = reader.shape(0).size();
  if (rank < 3) reader.refuse(fmt::format("an input of {} dimensions", rank));
  Ints axes(rank - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Shape shape_of_scales(const NodeReader& reader) {
  if (reader.int_of("block_size", 0) != 0) reader.refuse("scales of blocks are not run");
  Shape shape(reader.shape(0).size(), 1);
  const int64_t count = element_count(reader.shape(1));
  if (count != 1) shape.at(reader.axis_of("axis", 1, shape.size())) = count;
  return shape;
}

Levels levels_of(const NodeReader& reader, DataType type) {
  if (type == DataType::u8) return {0, 255};
  if (type == DataType::i8) return {-128, 127};
  reader.refuse(fmt::format("levels of {} are not run", name_of(type)));
}

void refuse_unusual_recurrence(const NodeReader& reader, const std::vector<std::string>& defaults) {
  if (reader.has(7)) reader.refuse("peepholes are not run");
  for (const char* name : {"clip", "input_forget", "activation_alpha", "activation_beta"})
    if (reader.node.attributes.contains(name)) reader.refuse(fmt::format("{} is not run", name));
  const auto given = reader.node.attributes.find("activations");
  if (given == reader.node.attributes.end()) return;
  const auto* names = std::get_if<std::vector<std::string>>(&given->second);
  for (size_t i = 0; names != nullptr && i < names->size(); ++i)
    if ((*names)[i] != defaults[i % defaults.size()]) reader.refuse(fmt::format("activation {} is not run there", (*names)[i]));
}

bool may_be_folded(const std::string& op) {
  const std::vector<std::string> evaluated = evaluated_operators();
  return op == "Size" || std::binary_search(evaluated.begin(), evaluated.end(), op);
}

}  // namespace deepgap
