// Fused attention: softmax(scale * query x key + mask) x value, as fuse_attention makes it and executors read it.
//
// The node is op "Attention" of domain "deepgap". As with fused nodes (fused.h) its attribute `body` is the Graph it stands for, whose
// inputs are the node's inputs, position by position. Transposes of the four operands are in the body, so that they are read and written
// where they lie.
#pragma once

#include <deepgap/graph.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace deepgap {

bool is_attention(const Node& node);

struct Attention {
  // A dense row-major value seen as [batch, head, row, column]; steps are in elements, 0 where a size of 1 is repeated.
  struct Operand {
    size_t input = 0;  // position among the node's inputs
    std::array<int64_t, 4> steps{};
  };
  int64_t batch = 1, heads = 1;
  int64_t queries = 0, keys = 0;   // rows of query and result; columns of key, rows of value
  int64_t depth = 0, columns = 0;  // columns of query and rows of key; columns of value and result
  Operand query, key, value;
  std::optional<Operand> mask;
  std::array<int64_t, 4> result{};  // steps
  float scale = 1;
};

Attention attention_of(const Node& node);
void describe(Node& node, const Attention& attention);  // puts it into the node's attributes, where attention_of finds it

}  // namespace deepgap
