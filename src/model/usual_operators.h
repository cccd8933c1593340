// For tests: operators that exports of vision networks hold.
#pragma once

#include "base/text.h"

#include <string>
#include <vector>

namespace deepgap {

inline std::vector<std::string> usual_operators() {
  return split(
      "Conv BatchNormalization Relu LeakyRelu Clip Sigmoid HardSigmoid HardSwish Tanh Erf Exp Sqrt Pow Add Sub Mul Div Sum "
      "Max Min MaxPool AveragePool GlobalAveragePool GlobalMaxPool Gemm MatMul Flatten Reshape Transpose Concat Split Slice "
      "Gather Squeeze Unsqueeze Shape Cast ConstantOfShape Identity Dropout Softmax LogSoftmax ReduceMean ReduceSum "
      "ReduceMax Pad Expand Where QuantizeLinear DequantizeLinear",
      ' ');
}

}  // namespace deepgap
