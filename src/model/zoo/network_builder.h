// Builds the Graph of a network layer by layer, keeping track of channels and picture size. Used by the zoo's families only; one builder
// makes one Graph. Constants get type, shape and a name, and no data (seed_weights or a safetensors file fills them), but for the bounds
// of Clip. Names follow the layer: layer "layer1.0.conv1" has the constant "layer1.0.conv1.weight" and is the node "layer1.0.conv1".
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <map>
#include <string>

namespace deepgap {

// A picture-shaped value: [N, channels, height, width].
struct Feature {
  ValueId id = no_value;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
};

enum class Padding {
  symmetric,  // (kernel - 1) / 2 on each side, as PyTorch's networks are written
  same,       // TensorFlow's: output = ceil(input / stride), the odd pixel at the end
};

struct ConvShape {
  int64_t out_channels = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t groups = 1;
  Padding padding = Padding::symmetric;
};

class NetworkBuilder {
 public:
  explicit NetworkBuilder(std::string name);

  Feature picture(const std::string& name, int64_t channels, int64_t size);
  Feature conv(const std::string& layer, const Feature& x, const ConvShape& shape);  // without bias
  Feature batch_norm(const std::string& layer, const Feature& x, float epsilon = 1e-5f);
  Feature relu(const std::string& layer, const Feature& x);
  Feature relu6(const std::string& layer, const Feature& x);
  Feature add(const std::string& layer, const Feature& a, const Feature& b);
  Feature max_pool(const std::string& layer, const Feature& x, int64_t kernel, int64_t stride, int64_t pad);
  // Global average, flatten and a linear layer; its value is called `output`.
  ValueId classify(const std::string& layer, const Feature& x, int64_t classes, const std::string& output);

  // The Graph with shapes inferred and `output` as its only output. The builder is empty afterwards.
  Graph finish(ValueId output);

 private:
  ValueId value(const std::string& name, DataType type = DataType::f32);
  ValueId constant(const std::string& name, Shape shape);
  ValueId scalar(const std::string& name, float content);
  ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
               std::map<std::string, Attribute> attributes = {}, const std::string& output = {});

  Graph graph_;
  std::map<std::string, ValueId> scalars_;
};

}  // namespace deepgap
