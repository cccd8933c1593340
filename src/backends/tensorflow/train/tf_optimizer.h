// Updates weights by their gradients, with operations of TensorFlow that compute what PyTorch's optimizers do: reference and engine take
// the same steps.
#pragma once

#include "backends/tensorflow/train/tf_variables.h"

#include <deepgap/train.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

class TfOptimizer {
 public:
  // The scope outlives it.
  TfOptimizer(const TrainSettings& settings, TfScope& scope) : settings_(settings), scope_(scope) {}

  // Operations that update `variable` by its gradient, to be run once in each step.
  std::vector<TfOutput> update(const std::string& name, const TfVariables::Variable& variable, TfOutput gradient);
  // Returns the operations that a step runs once for all weights.
  std::vector<TfOutput> end_of_step();

  // The state as it is before the first step.
  void reset(const TfSession& session) const;
  int64_t state_bytes() const { return state_bytes_; }

 private:
  struct State {
    TfOutput handle, set;
  };
  TfOutput state(const std::string& name, const Shape& shape, double begin);
  TfOutput number(double value) { return scope_.number(TfType::f32, value); }
  void add_adam(const std::string& name, const TfVariables::Variable& variable, TfOutput gradient, std::vector<TfOutput>& made);
  struct Powers {
    TfOutput handle, read;  // a decay rate, raised to the number of this step
  };
  const Powers& powers(const std::string& name, double rate);

  TrainSettings settings_;
  TfScope& scope_;
  std::map<std::string, State> states_;
  std::map<std::string, Powers> powers_;
  int64_t state_bytes_ = 0;
};

}  // namespace deepgap
