// Functions of angles, tests for special numbers, remainders and bits.
#include "backends/libtorch/elementwise_steps.h"

#include <ATen/ops/acos.h>
#include <ATen/ops/acosh.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/asinh.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/atanh.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_not.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/isneginf.h>
#include <ATen/ops/isposinf.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/zeros_like.h>

namespace deepgap {
namespace {

TorchStep is_infinite(const TorchCall& call) {
  const bool positive = call.int_of("detect_positive", 1) != 0, negative = call.int_of("detect_negative", 1) != 0;
  if (positive && negative) return unary<at::isinf>(call);
  if (positive) return unary<at::isposinf>(call);
  if (negative) return unary<at::isneginf>(call);
  return one_output([](const TorchFrame& frame) { return at::zeros_like(frame.in(0), at::TensorOptions(at::kBool)); });
}

TorchStep modulo(const TorchCall& call) { return call.int_of("fmod", 0) != 0 ? binary<at::fmod>(call) : binary<at::remainder>(call); }

TorchStep bit_shift(const TorchCall& call) {
  if (call.type(0) != DataType::u8) call.refuse("only uint8 is shifted");  // ATen has no other unsigned numbers to shift
  return call.text_of("direction", "") == "LEFT" ? binary<at::bitwise_left_shift>(call) : binary<at::bitwise_right_shift>(call);
}

const bool registered[] = {
    add_torch_operator("Acos", unary<at::acos>),
    add_torch_operator("Acosh", unary<at::acosh>),
    add_torch_operator("Asin", unary<at::asin>),
    add_torch_operator("Asinh", unary<at::asinh>),
    add_torch_operator("Atan", unary<at::atan>),
    add_torch_operator("Atanh", unary<at::atanh>),
    add_torch_operator("BitShift", bit_shift),
    add_torch_operator("BitwiseAnd", binary<at::bitwise_and>),
    add_torch_operator("BitwiseNot", unary<at::bitwise_not>),
    add_torch_operator("BitwiseOr", binary<at::bitwise_or>),
    add_torch_operator("BitwiseXor", binary<at::bitwise_xor>),
    add_torch_operator("Cos", unary<at::cos>),
    add_torch_operator("Cosh", unary<at::cosh>),
    add_torch_operator("IsInf", is_infinite),
    add_torch_operator("IsNaN", unary<at::isnan>),
    add_torch_operator("Mod", modulo),
    add_torch_operator("Sin", unary<at::sin>),
    add_torch_operator("Sinh", unary<at::sinh>),
    add_torch_operator("Tan", unary<at::tan>),
};

}  // namespace
}  // namespace deepgap
