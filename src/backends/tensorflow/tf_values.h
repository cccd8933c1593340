// The values of one bound Graph as TensorFlow's graph has them: in the order of dimensions that the Graph says, with channels last, or in
// both, whichever somebody asked for.
#pragma once

#include "backends/tensorflow/tf_scope.h"

#include <deepgap/graph.h>

#include <map>
#include <tuple>
#include <vector>

namespace deepgap {

// [0, 2, .., rank - 1, 1]: from channels first to channels last; and back.
std::vector<int64_t> channels_last_order(size_t rank);
std::vector<int64_t> channels_first_order(size_t rank);

// Constants by where their bytes lie, in an order of dimensions: shared by all batch sizes of a graph.
class TfConstants {
 public:
  virtual ~TfConstants() = default;
  // `order` empty: as they are. `name` is the Graph's.
  virtual TfOutput of(TfScope& scope, const std::string& name, const Tensor& tensor, const std::vector<int64_t>& order);
  // Computes beforehand what follows from constants.
  virtual void fold(Graph& bound) const;
  // Returns whether training changes some of them: operators are then made as training computes them, of operations that have gradients.
  virtual bool trains() const { return false; }
  // Sets the constant `name` to `value`, in its own order of dimensions, after each step of a training.
  virtual void replace(TfScope& scope, const std::string& name, TfOutput value);

 private:
  std::map<std::tuple<const std::byte*, DataType, Shape, std::vector<int64_t>>, TfOutput> made_;
};

class TfValues {
 public:
  // All of them outlive this.
  TfValues(const Graph& graph, TfScope& scope, TfConstants& constants)
      : graph_(graph), scope_(scope), constants_(constants), values_(graph.values.size()) {}

  TfOutput plain(ValueId id);
  TfOutput channels_last(ValueId id);  // for a value of three dimensions or more, all known
  TfOutput ordered(ValueId id, const std::vector<int64_t>& order);
  // Returns whether it is made with channels last and nobody has asked for another order: a computation on it should stay there.
  bool is_channels_last(ValueId id) const;
  bool trains() const { return constants_.trains(); }
  void replace(ValueId id, TfOutput value) { constants_.replace(scope_, graph_.values[static_cast<size_t>(id)].name, value); }
  void set_plain(ValueId id, TfOutput value) { values_[static_cast<size_t>(id)].plain = value; }
  void set_channels_last(ValueId id, TfOutput value) { values_[static_cast<size_t>(id)].last = value; }

 private:
  struct Value {
    TfOutput plain, last;
  };
  const Graph& graph_;
  TfScope& scope_;
  TfConstants& constants_;
  std::vector<Value> values_;
};

}  // namespace deepgap
