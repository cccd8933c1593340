// What shape rules are written with: one function per operator, registered by name in a shape_rules_*.cpp:
//     const bool registered = add_shape_rules({{"Relu", same_as_input}, ...});
// A rule reads the inputs' types and sizes through its ShapeContext and sets the outputs'. It says nothing of an output it cannot know, and
// fails on contradictions. Rules run in topological order on one thread.
#pragma once

#include "model/node_reader.h"

#include <deepgap/graph.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// Contents of small integer values, as far as known: what Shape gives and integer arithmetic carries on.
using Contents = std::map<ValueId, std::vector<Dim>>;

// Sizes may be open here and are set, besides what a NodeReader reads.
class ShapeContext : public NodeReader {
 public:
  // The analyzer does not see that a base without a constructor is initialized.
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject)
  ShapeContext(Graph& graph, const Node& node, Contents& contents) : NodeReader{nullptr, graph, node}, graph_(graph), contents_(contents) {}

  bool has_output(size_t i) const { return i < node.outputs.size() && node.outputs[i] != no_value; }

  // These fail when the input is left out.
  const std::optional<Dims>& dims(size_t i) const;                     // nullopt: rank not known
  std::optional<std::vector<Dim>> carried(size_t i) const;             // content of an integer input, constant or carried
  std::optional<std::vector<int64_t>> known_integers(size_t i) const;  // content where all of it is known

  // A contradiction with what was set before, or sizes beyond all reason, fail. No effect on an output left out.
  void set(size_t output, DataType type, std::optional<Dims> dims);
  void retype(size_t output, DataType type);
  void carry(size_t output, std::vector<Dim> content);

  Dim unknown(size_t output, size_t axis) const;  // a size that gets a symbol of its own
  std::optional<Dims> broadcast(const std::optional<Dims>& a, const std::optional<Dims>& b, size_t output) const;

 private:
  Graph& graph_;
  Contents& contents_;
};

inline Dim fixed_dim(int64_t size) { return {size, ""}; }
inline bool is_one(const Dim& dim) { return dim.known() && dim.size == 1; }
// nullopt where `size * symbol` cannot say it, or on overflow.
std::optional<Dim> multiply(const Dim& a, const Dim& b);
std::optional<Dim> divide(const Dim& a, int64_t divisor);  // exact
std::optional<Dim> add(const Dim& a, const Dim& b);
// The number of elements; nullopt likewise.
std::optional<Dim> product(const Dims& dims, size_t begin, size_t end);
std::string to_string(const Dims& dims);  // "[2*N,3,224]"

using ShapeRule = void (*)(ShapeContext&);
bool add_shape_rules(std::initializer_list<std::pair<const char*, ShapeRule>> rules);

// Returns axes that are an attribute, or an input in later opsets; nullopt: not known before the model runs.
std::optional<std::vector<int64_t>> axes_of(ShapeContext& context);

// Rules that several files use.
void same_as_input(ShapeContext& context);  // output 0 has input 0's type and dims, and its content where there is one

}  // namespace deepgap
