// Writes a program in StableHLO, the form of MLIR that XLA compiles, operation by operation (https://openxla.org/stablehlo/spec).
#pragma once

#include <deepgap/tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// A value of the program that is written.
struct HloValue {
  std::string name;  // "%12"
  DataType type = DataType::f32;
  Shape shape;
};

// Attributes of operations as the text has them: "array<i64: 1, 2>", "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>", "5 : i64".
std::string hlo_array(const std::vector<int64_t>& values);
std::string hlo_pairs(const std::vector<int64_t>& firsts, const std::vector<int64_t>& seconds);
std::string hlo_integer(int64_t value);
std::string hlo_list(const std::vector<int64_t>& values);  // "[1, 2]"

class HloWriter {
 public:
  HloValue argument(DataType type, const Shape& shape);
  HloValue constant(const Tensor& tensor);
  HloValue number(DataType type, double value, const Shape& shape = {});  // everywhere

  // Any operation with one result. `attributes` stand between <{ and }>, `region` between ({ and }).
  HloValue operation(std::string_view name, const std::vector<HloValue>& operands, DataType type, const Shape& shape,
                     const std::string& attributes = {}, const std::string& region = {});
  // Element by element; two operands are broadcast as ONNX has it.
  HloValue unary(std::string_view name, const HloValue& x) { return operation(name, {x}, x.type, x.shape); }
  HloValue binary(std::string_view name, const HloValue& a, const HloValue& b);
  HloValue binary(std::string_view name, const HloValue& a, double b) { return binary(name, a, number(a.type, b)); }
  HloValue compare(std::string_view direction, const HloValue& a, const HloValue& b);  // "LT"
  HloValue select(const HloValue& condition, const HloValue& yes, const HloValue& no);
  HloValue convert(const HloValue& x, DataType type);  // x itself where it has this type

  HloValue reshape(const HloValue& x, const Shape& shape);
  HloValue transpose(const HloValue& x, const std::vector<int64_t>& order);
  HloValue broadcast(const HloValue& x, const Shape& shape);                                          // aligned at the last dimension
  HloValue broadcast(const HloValue& x, const Shape& shape, const std::vector<int64_t>& dimensions);  // x's dimensions among the shape's
  HloValue concatenate(const std::vector<HloValue>& parts, int64_t axis);
  HloValue slice(const HloValue& x, const Shape& begins, const Shape& ends, const Shape& steps);
  HloValue reverse(const HloValue& x, const std::vector<int64_t>& axes);
  HloValue pad(const HloValue& x, const std::vector<int64_t>& begins, const std::vector<int64_t>& ends, double value);
  // Slices of x along an axis at these indices, all within it; their dimensions take the axis' place.
  HloValue gather(const HloValue& x, const HloValue& indices, int64_t axis);
  // `name` combines two numbers: "add"; `first` changes none.
  HloValue reduce(std::string_view name, const HloValue& x, double first, const std::vector<int64_t>& axes, bool keep);
  struct Window {
    std::vector<int64_t> size, strides, dilations, begins, ends;  // one for each dimension of x
  };
  HloValue reduce_window(std::string_view name, const HloValue& x, double first, const Window& window);

  // Returns the line of the program on which the next operation begins.
  size_t line() const;
  // The whole program: a function main of the arguments, in their order.
  std::string program(const std::vector<HloValue>& outputs) const;

 private:
  std::string region(std::string_view name, DataType type);
  std::string next() { return "%" + std::to_string(count_++); }

  std::vector<HloValue> arguments_;
  std::string body_;
  int64_t count_ = 0;
};

}  // namespace deepgap
