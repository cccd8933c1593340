#include "model/einsum.h"

#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace deepgap {
namespace {

// A term's axes by name: letters as they are, the axes of "..." as numbers below zero, -1 for the last.
using Labels = std::vector<int>;

class Parser {
 public:
  explicit Parser(const Node& node) : node_(node), equation_(attribute_string(node, "equation", "")) { std::erase(equation_, ' '); }

  EinsumEquation parse(std::span<const size_t> ranks) {
    const size_t arrow = equation_.find("->");
    const auto terms = split(equation_.substr(0, arrow));
    if (terms.size() != ranks.size()) fail(fmt::format("has {} terms for {} inputs", terms.size(), ranks.size()));
    std::vector<Labels> inputs;
    for (size_t i = 0; i < terms.size(); ++i) inputs.push_back(labels_of_input(terms[i], ranks[i]));
    const Labels output = arrow == std::string::npos ? implied_output(inputs) : labels(equation_.substr(arrow + 2), unnamed_);
    return numbered(inputs, output);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, fmt::format("node '{}' ({}): equation '{}' {}", node_.name, node_.op, equation_, what));
  }

  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> terms(1);
    for (const char c : text) {
      if (c == ',')
        terms.emplace_back();
      else
        terms.back() += c;
    }
    return terms;
  }

  // `unnamed`: how many axes "..." stands for.
  Labels labels(const std::string& term, size_t unnamed) const {
    Labels result;
    bool dots = false;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, 3, "...") == 0 && !dots) {
        for (size_t k = unnamed; k > 0; --k) result.push_back(-static_cast<int>(k));
        dots = true;
        i += 2;
      } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
        result.push_back(term[i]);
      } else {
        fail(fmt::format("has '{}' in a term; expected letters and at most one '...'", term[i]));
      }
    }
    return result;
  }

  Labels labels_of_input(const std::string& term, size_t rank) {
    const size_t named = labels(term, 0).size();
    const bool dots = term.find("...") != std::string::npos;
    if (named > rank || (named < rank && !dots)) fail(fmt::format("has a term '{}' for an input of rank {}", term, rank));
    unnamed_ = std::max(unnamed_, rank - named);
    return labels(term, rank - named);
  }

  Labels implied_output(const std::vector<Labels>& inputs) const {
    Labels all, output;
    for (const Labels& input : inputs) all.insert(all.end(), input.begin(), input.end());
    for (size_t k = unnamed_; k > 0; --k) output.push_back(-static_cast<int>(k));
    for (int letter = 'A'; letter <= 'z'; ++letter)
      if (std::ranges::count(all, letter) == 1) output.push_back(letter);
    return output;
  }

  EinsumEquation numbered(const std::vector<Labels>& inputs, const Labels& output) const {
    Labels order = output;
    for (size_t i = 0; i < order.size(); ++i)
      if (std::ranges::count(order, order[i]) > 1) fail("names an axis of the output twice");
    EinsumEquation result{{}, output.size(), 0};
    for (const Labels& input : inputs) {
      auto& axes = result.inputs.emplace_back();
      for (const int label : input) {
        const auto found = std::ranges::find(order, label);
        axes.push_back(static_cast<size_t>(found - order.begin()));
        if (found == order.end()) order.push_back(label);
      }
    }
    for (size_t i = 0; i < output.size(); ++i) {
      if (std::ranges::none_of(result.inputs, [i](const auto& axes) { return std::ranges::count(axes, i) > 0; }))
        fail("has an axis in its output that no input has");
    }
    result.count = order.size();
    return result;
  }

  const Node& node_;
  std::string equation_;
  size_t unnamed_ = 0;  // axes under "..." of the input that has most of them
};

}  // namespace

EinsumEquation parse_einsum(const Node& node, std::span<const size_t> ranks) { return Parser(node).parse(ranks); }

EinsumSizes einsum_sizes(const Node& node, std::span<const Shape> inputs) {
  std::vector<size_t> ranks;
  for (const Shape& shape : inputs) ranks.push_back(shape.size());
  EinsumSizes result{parse_einsum(node, ranks), {}};
  result.sizes.assign(result.equation.count, 1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t axis = 0; axis < inputs[i].size(); ++axis) {
      int64_t& size = result.sizes[result.equation.inputs[i][axis]];
      const int64_t here = inputs[i][axis];
      if (here != size && here != 1 && size != 1)
        throw Error(ErrorKind::input, fmt::format("node '{}' ({}): one index has the sizes {} and {}", node.name, node.op, size, here));
      if (here != 1) size = here;
    }
  }
  return result;
}

}  // namespace deepgap
