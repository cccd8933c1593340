// Builds the Graph of a network layer by layer, keeping track of channels and picture size. Used by the zoo's families only; one builder
// makes one Graph. Weights get type, shape and a name, and no data (seed_weights or a safetensors file fills them); settings such as the
// bounds of Clip have their data. Names follow the layer: layer "layer1.0.conv1" has the constant "layer1.0.conv1.weight" and is the node
// "layer1.0.conv1". A picture that is too small for a layer is refused: Error{usage} naming both.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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
  none,
};

struct ConvShape {
  int64_t out_channels = 0;
  int64_t kernel = 1;
  int64_t kernel_width = 0;  // 0: as high as it is wide
  int64_t stride = 1;
  int64_t groups = 1;
  Padding padding = Padding::symmetric;
  bool bias = false;
};

class NetworkBuilder {
 public:
  explicit NetworkBuilder(std::string name);

  Feature picture(const std::string& name, int64_t channels, int64_t size);
  Feature conv(const std::string& layer, const Feature& x, const ConvShape& shape);
  Feature batch_norm(const std::string& layer, const Feature& x, float epsilon = 1e-5f);
  // An operator with one input that keeps shapes: Relu, HardSwish, HardSigmoid, ...
  Feature activation(const std::string& op, const std::string& layer, const Feature& x, std::map<std::string, Attribute> attributes = {});
  Feature relu(const std::string& layer, const Feature& x) { return activation("Relu", layer, x); }
  Feature relu6(const std::string& layer, const Feature& x);
  Feature add(const std::string& layer, const Feature& a, const Feature& b);
  Feature multiply(const std::string& layer, const Feature& x, const Feature& factors);  // one factor for each channel
  Feature concat(const std::string& layer, const std::vector<Feature>& parts);           // along the channels
  Feature max_pool(const std::string& layer, const Feature& x, int64_t kernel, int64_t stride, int64_t pad);
  Feature average_pool(const std::string& layer, const Feature& x, int64_t kernel, int64_t stride, int64_t pad);  // pads count
  Feature global_average(const std::string& layer, const Feature& x);
  ValueId flatten(const std::string& layer, const Feature& x);
  ValueId linear(const std::string& layer, ValueId x, int64_t inputs, int64_t outputs, const std::string& output = {});  // x has rank 2
  // `share` of 0 or less: x itself.
  ValueId dropout(const std::string& layer, ValueId x, double share);
  // Global average, flatten, Dropout of that share and a linear layer; its value is called `output`.
  ValueId classify(const std::string& layer, const Feature& x, int64_t classes, const std::string& output, double dropped = 0);

  // These make the layers above, for networks of one family. `output` names the value; by default it is "NAME.out".
  ValueId input(const std::string& name, DataType type, Dims dims);
  ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
               std::map<std::string, Attribute> attributes = {}, const std::string& output = {});
  // One that has several outputs: NAME.out0, NAME.out1, ...
  std::vector<ValueId> node_of_many(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                                    std::map<std::string, Attribute> attributes, size_t outputs);
  std::vector<ValueId> split(const std::string& name, ValueId x, int64_t axis, size_t parts);  // equal ones
  ValueId weight(const std::string& name, Shape shape);
  ValueId scalar(const std::string& name, float content);  // names are unique: a second call returns the first value
  ValueId numbers(const std::string& name, Shape shape, const std::vector<float>& content);
  ValueId integers(const std::string& name, const std::vector<int64_t>& content);  // rank 1; of one name there is one
  // Inside a body, this reads a value of the Graph around it by its name.
  ValueId outer(const std::string& name, DataType type, Dims dims);
  // Declares what shape inference cannot infer: the outputs of a node with a body.
  void declare(ValueId id, DataType type, Dims dims);
  const Value& described(ValueId id) const { return graph_.values[static_cast<size_t>(id)]; }

  // Infers what is known of the values so far.
  void infer();
  // The Graph with shapes inferred and these outputs. The builder is empty afterwards.
  Graph finish(std::vector<ValueId> outputs);
  Graph finish(ValueId output) { return finish(std::vector<ValueId>{output}); }

 private:
  ValueId value(const std::string& name, DataType type = DataType::f32);
  ValueId constant(const std::string& name, Tensor tensor);
  Feature pool(const std::string& op, const std::string& layer, const Feature& x, int64_t kernel, int64_t stride, int64_t pad,
               std::map<std::string, Attribute> attributes);
  int64_t windows(const std::string& layer, int64_t size, int64_t kernel, int64_t stride, int64_t pads) const;

  Graph graph_;
  std::map<std::string, ValueId> settings_;
};

}  // namespace deepgap
