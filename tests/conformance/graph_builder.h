// Small Graphs for the conformance suite, built value by value; and the seeded randomness they are made with.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace deepgap::conformance {

// The same numbers on every machine: the library's distributions are not.
class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  int64_t between(int64_t low, int64_t high) { return low + static_cast<int64_t>(bits_() % static_cast<uint64_t>(high - low + 1)); }
  bool chance(double probability) { return uniform() < probability; }
  float value(float low, float high) { return low + (high - low) * static_cast<float>(uniform()); }
  template <typename T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(between(0, static_cast<int64_t>(choices.size()) - 1))];
  }

 private:
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  std::mt19937_64 bits_;
};

Tensor random_tensor(Random& random, Shape shape, float low = -1, float high = 1);
// Draws numbers of any type: floats as above, whole numbers from -5 to 5, unsigned ones from 0 to 9.
Tensor random_tensor(Random& random, DataType type, Shape shape);
Tensor number_tensor(DataType type, double value);      // one number of any type, no dimensions
Tensor int_tensor(const std::vector<int64_t>& values);  // one dimension

using Attributes = std::map<std::string, Attribute>;

class GraphBuilder {
 public:
  GraphBuilder(Random& random, int opset) : random_(random) { graph_.opset = opset; }

  Random& random() { return random_; }
  int opset() const { return graph_.opset; }
  // Batch first: [N, sample...].
  ValueId input(const Shape& sample, DataType type = DataType::f32);
  ValueId constant(Tensor tensor);
  ValueId floats(Shape shape, float low = -1, float high = 1) { return constant(random_tensor(random_, std::move(shape), low, high)); }
  // An input of floats in quarters between -5/4 and 5/4, or of whole numbers: exact in every type and precision, for what jumps where a
  // number changes a little.
  ValueId stepped_input(const Shape& sample, DataType type);
  ValueId number(DataType type, double value) { return constant(number_tensor(type, value)); }
  ValueId ints(const std::vector<int64_t>& values) { return constant(int_tensor(values)); }
  ValueId node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {});
  // Adds a node with several outputs.
  std::vector<ValueId> nodes(const std::string& op, std::vector<ValueId> inputs, size_t outputs, Attributes attributes = {});
  // Shapes inferred, promise checked.
  Graph finish(const std::vector<ValueId>& outputs);

 private:
  ValueId value(const std::string& name, DataType type, std::optional<Dims> dims);

  Random& random_;
  Graph graph_;
};

}  // namespace deepgap::conformance
