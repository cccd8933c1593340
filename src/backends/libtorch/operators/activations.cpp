// Activations.
#include "backends/libtorch/elementwise_steps.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/celu.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/div.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/threshold.h>
#include <ATen/ops/where.h>

namespace deepgap {
namespace {

TorchStep hard_sigmoid(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 0.2f), beta = call.float_of("beta", 0.5f);
  return one_output([alpha, beta](const TorchFrame& frame) { return at::clamp(at::add(at::mul(frame.in(0), alpha), beta), 0, 1); });
}

TorchStep leaky_relu(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 0.01f);
  return one_output([alpha](const TorchFrame& frame) { return at::leaky_relu(frame.in(0), alpha); });
}

TorchStep elu(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 1);
  return one_output([alpha](const TorchFrame& frame) { return at::elu(frame.in(0), alpha); });
}

TorchStep selu(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 1.67326319217681884765625f), gamma = call.float_of("gamma", 1.05070102214813232421875f);
  return one_output([alpha, gamma](const TorchFrame& frame) { return at::elu(frame.in(0), alpha, gamma); });
}

TorchStep gelu(const TorchCall& call) {
  const std::string approximate = call.text_of("approximate", "none");
  return one_output([approximate](const TorchFrame& frame) { return at::gelu(frame.in(0), approximate); });
}

TorchStep softplus(const TorchCall&) {
  return one_output([](const TorchFrame& frame) { return at::softplus(frame.in(0)); });
}

TorchStep p_relu(const TorchCall&) {
  return one_output(
      [](const TorchFrame& frame) { return at::where(at::lt(frame.in(0), 0), at::mul(frame.in(0), frame.in(1)), frame.in(0)); });
}

TorchStep celu(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 1);
  return one_output([alpha](const TorchFrame& frame) { return at::celu(frame.in(0), alpha); });
}

TorchStep thresholded_relu(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 1);
  return one_output([alpha](const TorchFrame& frame) { return at::threshold(frame.in(0), alpha, 0); });
}

at::Tensor softsign(const at::Tensor& x) { return at::div(x, at::add(at::abs(x), 1)); }

TorchStep shrink(const TorchCall& call) {
  const double bias = call.float_of("bias", 0), lambda = call.float_of("lambd", 0.5f);
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor& x = frame.in(0);
    const at::Tensor above = at::where(at::gt(x, lambda), at::sub(x, bias), 0);
    return at::where(at::lt(x, -lambda), at::add(x, bias), above).to(x.scalar_type());
  });
}

const bool registered[] = {
    add_torch_operator("Celu", celu),
    add_torch_operator("Elu", elu),
    add_torch_operator("Gelu", gelu),
    add_torch_operator("HardSigmoid", hard_sigmoid),
    add_torch_operator("HardSwish", unary<at::hardswish>),
    add_torch_operator("LeakyRelu", leaky_relu),
    add_torch_operator("Mish", unary<at::mish>),
    add_torch_operator("PRelu", p_relu),
    add_torch_operator("Relu", unary<at::relu>),
    add_torch_operator("Selu", selu),
    add_torch_operator("Shrink", shrink),
    add_torch_operator("Sigmoid", unary<at::sigmoid>),
    add_torch_operator("Softplus", softplus),
    add_torch_operator("Softsign", unary<softsign>),
    add_torch_operator("Tanh", unary<at::tanh>),
    add_torch_operator("ThresholdedRelu", thresholded_relu),
};

}  // namespace
}  // namespace deepgap
