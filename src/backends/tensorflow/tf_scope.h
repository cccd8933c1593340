// Makes operations of one TensorFlow graph: names that begin with the node of deepgap's Graph for which they are made, and short words for
// the operations that many translations need.
#pragma once

#include "backends/tensorflow/tf_objects.h"

#include <deepgap/graph.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

class TfScope;

// One operation, attribute by attribute; made by the first call of out().
class TfMaker {
 public:
  TfMaker(TfScope& scope, const char* type);
  TfMaker& in(TfOutput value);
  TfMaker& in(const std::vector<TfOutput>& list);  // an input that is a list
  TfMaker& after(TfOutput value);                  // a control input
  TfMaker& integer(const char* name, int64_t value);
  TfMaker& integers(const char* name, const std::vector<int64_t>& values);
  TfMaker& number(const char* name, double value);
  TfMaker& flag(const char* name, bool value);
  TfMaker& text(const char* name, std::string_view value);
  TfMaker& type(const char* name, TfType value);
  TfMaker& shape(const char* name, const Shape& value);
  TfMaker& tensor(const char* name, const Tensor& value);
  TfOutput out(int index = 0);  // throws TfFailure

 private:
  TfDescription* description_;
  TfOperation* made_ = nullptr;
};

class TfScope {
 public:
  explicit TfScope(TfGraphObject* graph) : graph_(graph) {}

  // Operations made from here on are for this node: "PREFIX/NODE/...".
  void enter(const std::string& prefix, const std::string& node);
  // The node of deepgap's Graph for which an operation was made, by the operation's name; "" for none.
  std::string node_of(std::string_view operation) const;

  // The first node for which an operation of this type was made; "" for none.
  std::string first_node_with(const std::string& type) const;

  TfMaker make(const char* type) { return {*this, type}; }
  TfOutput unary(const char* type, TfOutput x) { return make(type).in(x).out(); }
  TfOutput binary(const char* type, TfOutput a, TfOutput b) { return make(type).in(a).in(b).out(); }

  TfOutput constant(const Tensor& tensor);
  TfOutput ints(const std::vector<int64_t>& values);  // int64, or int32 where they fit: for shapes, axes and the like
  TfOutput index(int64_t value);                      // int32, no dimensions
  TfOutput number(TfType type, double value);         // no dimensions; float or integer
  TfOutput reshape(TfOutput x, const Shape& shape);
  TfOutput transpose(TfOutput x, const std::vector<int64_t>& order);
  TfOutput cast(TfOutput x, TfType type);  // x itself where it is of this type
  TfOutput pad(TfOutput x, const std::vector<int64_t>& begins, const std::vector<int64_t>& ends, double value);
  TfOutput slice(TfOutput x, const std::vector<int64_t>& begins, const std::vector<int64_t>& sizes);
  TfOutput gather(TfOutput x, const std::vector<int64_t>& positions, int64_t axis);
  TfOutput reduce(const char* type, TfOutput x, const std::vector<int64_t>& axes, bool keep);
  TfOutput concat(const std::vector<TfOutput>& parts, int64_t axis);

  static TfType type_of(TfOutput x) { return tf().operation_output_type(x); }
  TfGraphObject* graph() { return graph_; }
  std::string next_name(const char* type);  // a name for the next operation of this type

 private:
  TfGraphObject* graph_;
  std::string place_ = "deepgap";
  std::map<std::string, std::string> nodes_;  // place -> node
  std::map<std::string, int> used_;           // names, with how often
  std::map<std::string, std::string> first_;  // type of operation -> place
};

// `tensor` with its dimensions in this order.
Tensor permuted(const Tensor& tensor, const std::vector<int64_t>& order);

}  // namespace deepgap
