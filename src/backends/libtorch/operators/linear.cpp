// Products and normalisations.
#include "backends/libtorch/torch_operator.h"

#include <ATen/ops/add.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/softmax.h>

#include <string>
#include <vector>

namespace deepgap {
namespace {

// A linear layer as PyTorch's own exporter writes it runs as one.
bool is_linear_layer(const TorchCall& call, double alpha, double beta) {
  if (alpha != 1 || call.int_of("transA", 0) != 0 || call.int_of("transB", 0) == 0) return false;
  return !call.has(2) || (beta == 1 && call.shape(2).size() == 1 && call.shape(2)[0] == call.shape(1)[0]);
}

void refuse_integers_on_gpu(const TorchCall& call) {
  if (call.target.device.is_cuda() && !call.is_float(0)) call.refuse("PyTorch has no products of whole numbers on a GPU");
}

TorchStep gemm(const TorchCall& call) {
  refuse_integers_on_gpu(call);
  const double alpha = call.float_of("alpha", 1), beta = call.float_of("beta", 1);
  const bool biased = call.has(2);
  if (is_linear_layer(call, alpha, beta)) {
    return one_output([biased](const TorchFrame& frame) {
      return biased ? at::linear(frame.in(0), frame.in(1), frame.in(2)) : at::linear(frame.in(0), frame.in(1));
    });
  }
  const bool turn_a = call.int_of("transA", 0) != 0, turn_b = call.int_of("transB", 0) != 0;
  return one_output([=](const TorchFrame& frame) {
    at::Tensor y = at::matmul(turn_a ? frame.in(0).t() : frame.in(0), turn_b ? frame.in(1).t() : frame.in(1));
    if (alpha != 1) y = at::mul(y, alpha);
    return biased ? at::add(y, frame.in(2), beta) : y;
  });
}

TorchStep matmul(const TorchCall& call) {
  refuse_integers_on_gpu(call);
  return one_output([](const TorchFrame& frame) { return at::matmul(frame.in(0), frame.in(1)); });
}

// A statistic of one value says nothing: its deviation is zero.
void refuse_single_values(const TorchCall& call) {
  const Shape shape = call.shape(0);
  if (shape.size() < 2 || element_count(shape) > shape[1]) return;
  call.refuse("training takes statistics over a batch, and here they would cover a single value; use a larger batch or larger images");
}

TorchStep batch_norm(const TorchCall& call) {
  call.expect_outputs(1);
  if (call.int_of("training_mode", 0) != 0) call.refuse("training_mode is not run");
  const double epsilon = call.float_of("epsilon", 1e-5f);
  // ONNX counts what is kept of the running statistics, PyTorch what is new.
  const double momentum = 1 - call.float_of("momentum", 0.9f);
  const bool trains = call.target.trains;
  if (trains) refuse_single_values(call);
  return one_output([=](const TorchFrame& frame) {
    return at::batch_norm(frame.in(0), frame.in(1), frame.in(2), frame.in(3), frame.in(4), trains, momentum, epsilon, true);
  });
}

TorchStep instance_norm(const TorchCall& call) {
  const double epsilon = call.float_of("epsilon", 1e-5f);
  return one_output([epsilon](const TorchFrame& frame) {
    return at::instance_norm(frame.in(0), frame.in(1), frame.in(2), {}, {}, true, 0, epsilon, true);
  });
}

TorchStep layer_norm(const TorchCall& call) {
  call.expect_outputs(1);
  const std::vector<int64_t> normalized = call.sizes_from(0, call.axis(call.int_of("axis", -1), call.rank(0)));
  for (size_t i = 1; i < 3; ++i) {
    if (call.has(i) && call.shape(i) != normalized) call.refuse("scale or bias of another shape than what is normalised");
  }
  const double epsilon = call.float_of("epsilon", 1e-5f);
  const bool biased = call.has(2);
  return one_output([=](const TorchFrame& frame) {
    return at::layer_norm(frame.in(0), normalized, frame.in(1), biased ? frame.in(2) : at::Tensor(), epsilon);
  });
}

// Before opset 13 all dimensions from the axis on are one row.
template <bool logarithm>
TorchStep softmax(const TorchCall& call) {
  const bool old = call.graph.opset < 13;
  const int64_t axis = call.axis(call.int_of("axis", old ? 1 : -1), call.rank(0));
  const auto apply = [](const at::Tensor& x, int64_t dim) { return logarithm ? at::log_softmax(x, dim) : at::softmax(x, dim); };
  if (!old) return one_output([=](const TorchFrame& frame) { return apply(frame.in(0), axis); });
  const Shape shape = call.shape(0);
  const int64_t columns = element_count(std::span(shape).subspan(static_cast<size_t>(axis)));
  return one_output([=](const TorchFrame& frame) { return apply(frame.in(0).reshape({-1, columns}), 1).reshape(shape); });
}

TorchStep einsum(const TorchCall& call) {
  refuse_integers_on_gpu(call);
  const std::string equation = call.text_of("equation", "");
  return one_output([equation](const TorchFrame& frame) {
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; i < frame.inputs(); ++i) inputs.push_back(frame.in(i));
    return at::einsum(equation, inputs);
  });
}

const bool registered[] = {
    add_torch_operator("BatchNormalization", batch_norm),
    add_torch_operator("Einsum", einsum),
    add_torch_operator("Gemm", gemm),
    add_torch_operator("InstanceNormalization", instance_norm),
    add_torch_operator("LayerNormalization", layer_norm),
    add_torch_operator("LogSoftmax", softmax<true>),
    add_torch_operator("MatMul", matmul),
    add_torch_operator("Softmax", softmax<false>),
};

}  // namespace
}  // namespace deepgap
