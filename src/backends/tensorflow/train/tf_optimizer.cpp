#include "backends/tensorflow/train/tf_optimizer.h"

namespace deepgap {
namespace {

constexpr double beta1 = 0.9, beta2 = 0.999, adam_epsilon = 1e-8;

}  // namespace

TfOutput TfOptimizer::state(const std::string& name, const Shape& shape, double begin) {
  State& state = states_[name];
  if (!state.handle) {
    state.handle = make_tf_variable(scope_, name, shape);
    const TfOutput value = scope_.binary("Fill", scope_.ints(shape), number(begin));
    state.set = scope_.make("AssignVariableOp").in(state.handle).in(value).out();
    state_bytes_ += element_count(shape) * static_cast<int64_t>(sizeof(float));
  }
  return state.handle;
}

std::vector<TfOutput> TfOptimizer::update(const std::string& name, const TfVariables::Variable& variable, TfOutput gradient) {
  std::vector<TfOutput> made;
  const bool decoupled = settings_.optimizer == Optimizer::adamw;
  // The decay is subtracted with its sign changed: on CPUs with AVX-512 Grappler takes a product plus a value of shape [1, n] for a layer
  // with a bias, whose kernel then refuses the shape.
  if (settings_.weight_decay != 0 && !decoupled)
    gradient = scope_.binary("Sub", gradient, scope_.binary("Mul", variable.read, number(-settings_.weight_decay)));
  if (settings_.optimizer == Optimizer::sgd) {
    made.push_back(scope_.make("ResourceApplyGradientDescent").in(variable.handle).in(number(settings_.learning_rate)).in(gradient).out());
  } else if (settings_.optimizer == Optimizer::momentum) {
    const TfOutput velocity = state(name + "/velocity", variable.shape, 0);
    made.push_back(scope_.make("ResourceApplyMomentum")
                       .in(variable.handle)
                       .in(velocity)
                       .in(number(settings_.learning_rate))
                       .in(gradient)
                       .in(number(settings_.momentum))
                       .out());
  } else {
    add_adam(name, variable, gradient, made);
  }
  return made;
}

// TensorFlow's epsilon stands beside the root of the average that is not corrected yet; PyTorch's beside the corrected one.
void TfOptimizer::add_adam(const std::string& name, const TfVariables::Variable& variable, TfOutput gradient, std::vector<TfOutput>& made) {
  const TfOutput first = state(name + "/first", variable.shape, 0), second = state(name + "/second", variable.shape, 0);
  const TfOutput power1 = powers("beta1", beta1).read, power2 = powers("beta2", beta2).read;
  const TfOutput epsilon = scope_.binary("Mul", number(adam_epsilon), scope_.unary("Sqrt", scope_.binary("Sub", number(1), power2)));
  const TfOutput applied = scope_.make("ResourceApplyAdam")
                               .in(variable.handle)
                               .in(first)
                               .in(second)
                               .in(power1)
                               .in(power2)
                               .in(number(settings_.learning_rate))
                               .in(number(beta1))
                               .in(number(beta2))
                               .in(epsilon)
                               .in(gradient)
                               .out();
  made.push_back(applied);
  if (settings_.optimizer != Optimizer::adamw || settings_.weight_decay == 0) return;
  const TfOutput decay = scope_.binary("Mul", variable.read, number(settings_.learning_rate * settings_.weight_decay));
  made.push_back(scope_.make("AssignSubVariableOp").in(variable.handle).in(decay).after(applied).out());
}

const TfOptimizer::Powers& TfOptimizer::powers(const std::string& name, double rate) {
  Powers& made = powers_[name];
  if (!made.handle) {
    made.handle = state("powers/" + name, {}, rate);
    made.read = read_tf_variable(scope_, made.handle);
  }
  return made;
}

std::vector<TfOutput> TfOptimizer::end_of_step() {
  std::vector<TfOutput> made;
  for (const auto& [name, power] : powers_) {
    const TfOutput next = scope_.binary("Mul", power.read, number(name == "beta1" ? beta1 : beta2));
    made.push_back(scope_.make("AssignVariableOp").in(power.handle).in(next).out());
  }
  return made;
}

void TfOptimizer::reset(const TfSession& session) const {
  TfSession::Fetches fetches;
  for (const auto& [name, state] : states_) fetches.targets.push_back(state.set.operation);
  if (!fetches.targets.empty()) session.run(fetches, {});
}

}  // namespace deepgap
