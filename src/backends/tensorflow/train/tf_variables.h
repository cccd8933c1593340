// The constants that training changes, as variables of TensorFlow: weights, and running statistics of normalisation. Each lies in the
// order of dimensions in which an operator first reads it, and is set from the Graph's bytes.
// One thread at a time.
#pragma once

#include "backends/tensorflow/tf_network.h"
#include "backends/tensorflow/tf_values.h"

#include <deepgap/graph.h>
#include <deepgap/tensor.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

class TfVariables final : public TfConstants {
 public:
  struct Variable {
    const Tensor* at_load = nullptr;
    std::vector<int64_t> order;  // order of at_load's dimensions; empty: as they are
    Shape shape;                 // in that order
    bool is_weight = false;      // else a statistic, which has no gradient
    TfOutput handle, read;
    TfOutput given, set;  // a placeholder and the operation that makes it the variable's value
  };

  // The Graph and the scope outlive this. Throws Error{refused} naming a weight that is not float32.
  TfVariables(const Graph& graph, TfScope& scope);

  TfOutput of(TfScope& scope, const std::string& name, const Tensor& tensor, const std::vector<int64_t>& order) override;
  // Folds nothing that is computed from weights, as every step computes it.
  void fold(Graph& bound) const override;
  bool trains() const override { return true; }
  void replace(TfScope& scope, const std::string& name, TfOutput value) override;

  // Returns the variables that an operator has read so far, by the Graph's names.
  const std::map<std::string, Variable>& made() const { return made_; }
  // Returns the values that replace statistics and were requested since the last call.
  std::vector<TfOutput> take_replacements() { return std::exchange(replacements_, {}); }

  void reset(const TfSession& session) const;
  std::map<std::string, Tensor> copies(const TfSession& session) const;  // in the Graph's order of dimensions

 private:
  Variable& made_in(const std::string& name, const std::vector<int64_t>& order);

  const Graph& graph_;
  TfScope& scope_;
  std::set<ValueId> trained_;
  std::map<std::string, ValueId> changing_;  // weights and statistics
  std::map<std::string, Variable> made_;
  std::map<std::pair<std::string, std::vector<int64_t>>, TfOutput> reordered_;
  std::vector<TfOutput> replacements_;
};

// A variable of this scope, and the operation that reads it.
TfOutput make_tf_variable(TfScope& scope, const std::string& name, const Shape& shape);
TfOutput read_tf_variable(TfScope& scope, TfOutput handle);

}  // namespace deepgap
