// A Graph that nodes are added to, one behind the other, and bodies of If, Loop and Scan as nodes of its own: each value and node gets a
// name that is not there yet. For control_flow.cpp.
#pragma once

#include <deepgap/graph.h>

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace deepgap {

class GrowingGraph {
 public:
  // Throws Error{input} once what is done takes more than `most_work` steps: nodes and values that are added or looked at.
  GrowingGraph(Graph graph, size_t most_work);

 protected:
  ~GrowingGraph() = default;

  void work(size_t steps);
  ValueId add_value(const std::string& wanted, const Value& like);
  ValueId add_constant(const std::string& wanted, Tensor tensor);
  void add_node(const std::string& op, std::vector<ValueId> inputs, ValueId output, std::map<std::string, Attribute> attributes = {});
  // The body of `owner`, behind the graph's nodes, with `arguments` in place of its inputs. The ids that its outputs have here.
  std::vector<ValueId> append(const Graph& body, const std::vector<ValueId>& arguments, const std::string& prefix, const Node& owner);
  // `from` become the outputs of the node.
  void name_outputs(const std::vector<ValueId>& from, const Node& node);

  // The graph's nodes, which leaves it without any: put aside while others are made.
  std::vector<Node> set_aside();
  void put_back(std::vector<Node>& nodes, size_t begin, size_t end);
  void forget_values_from(size_t first);  // ids from there on

  Graph graph_;

 private:
  std::string unused_name(const std::string& wanted) const;
  ValueId outer_value(const std::string& name, const Node& owner) const;

  size_t most_work_, work_ = 0;
  std::unordered_map<std::string, ValueId> ids_;
  std::set<std::string> node_names_;
};

}  // namespace deepgap
