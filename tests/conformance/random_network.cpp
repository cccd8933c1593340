#include "random_network.h"

#include <vector>

namespace deepgap::conformance {
namespace {

// Grows a network by random steps; every value has the same picture size, so that any two can be joined.
class RandomNetwork {
 public:
  explicit RandomNetwork(Random& random) : random_(random), net_(random, 17) {}

  Graph grow() {
    size_ = random_.between(4, 14);
    const int64_t channels = random_.between(1, 12);
    values_.push_back({net_.input({channels, size_, size_}), channels});
    for (int64_t steps = random_.between(4, 12); steps > 0; --steps) step();
    std::vector<ValueId> outputs{values_.back().id};
    if (random_.chance(0.3)) outputs.push_back(values_[values_.size() / 2].id);
    outputs.push_back(net_.node("Flatten", {net_.node("GlobalAveragePool", {values_.back().id})}));
    if (outputs[1] == outputs[0] || outputs[1] == values_.front().id) outputs.erase(outputs.begin() + 1);
    return net_.finish(outputs);
  }

 private:
  struct Feature {
    ValueId id = no_value;
    int64_t channels = 0;
  };

  const Feature& any() { return values_[static_cast<size_t>(random_.between(0, static_cast<int64_t>(values_.size()) - 1))]; }

  void step() {
    switch (random_.between(0, 6)) {
      case 0:
      case 1:
      case 2:
        return values_.push_back(convolution(random_.chance(0.7) ? values_.back() : any()));
      case 3:
        return add();
      case 4: {
        const Feature a = any(), b = any();
        return values_.push_back({net_.node("Concat", {a.id, b.id}, {{"axis", int64_t{1}}}), a.channels + b.channels});
      }
      case 5: {
        const std::vector<int64_t> kernel{3, 3}, pads{1, 1, 1, 1};
        const Feature x = any();
        return values_.push_back({net_.node("MaxPool", {x.id}, {{"kernel_shape", kernel}, {"pads", pads}}), x.channels});
      }
      default: {
        const Feature x = any();
        return values_.push_back({activation(x.id), x.channels});
      }
    }
  }

  Feature convolution(const Feature& x) {
    const bool depthwise = random_.chance(0.3);
    const int64_t out = depthwise ? x.channels : random_.between(1, 24), kernel = random_.one_of<int64_t>({1, 3});
    const std::vector<int64_t> pads(4, kernel / 2);
    const float bound = 2.0f / static_cast<float>(depthwise ? kernel * kernel : x.channels * kernel);
    const int64_t groups = depthwise ? x.channels : 1;
    ValueId y = net_.node("Conv", {x.id, net_.floats({out, x.channels / groups, kernel, kernel}, -bound, bound)},
                          {{"pads", pads}, {"group", groups}});
    if (random_.chance(0.7)) {
      y = net_.node("BatchNormalization", {y, net_.floats({out}, 0.5f, 1.5f), net_.floats({out}, -0.5f, 0.5f),
                                           net_.floats({out}, -0.5f, 0.5f), net_.floats({out}, 0.5f, 1.5f)});
    }
    if (random_.chance(0.7)) y = activation(y);
    return {y, out};
  }

  // A residual where two values have the same channels; their sum may be activated.
  void add() {
    const Feature a = values_.back();
    Feature b = any();
    if (b.channels != a.channels) {
      b = {net_.node("Conv", {b.id, net_.floats({a.channels, b.channels, 1, 1})}), a.channels};
    }
    ValueId sum = random_.chance(0.5) ? net_.node("Add", {a.id, b.id}) : net_.node("Add", {b.id, a.id});
    if (random_.chance(0.6)) sum = activation(sum);
    values_.push_back({sum, a.channels});
  }

  ValueId activation(ValueId x) {
    switch (random_.between(0, 3)) {
      case 0:
        return net_.node("Clip", {x, net_.floats({}, 0, 0), net_.floats({}, 6, 6)});
      case 1:
        return net_.node("Mul", {x, net_.node("Sigmoid", {x})});
      default:
        return net_.node("Relu", {x});
    }
  }

  Random& random_;
  GraphBuilder net_;
  int64_t size_ = 0;
  std::vector<Feature> values_;
};

}  // namespace

Graph random_network(Random& random) { return RandomNetwork(random).grow(); }

}  // namespace deepgap::conformance
