// A plain loop over ATen, PyTorch's eager mode as a user would write it: ResNet-50 and MobileNetV2 with random weights, which do not change
// the time, a call for each layer, in inference mode. The file's name says which network.
//     PEER_PRECISION=fp32|bf16|fp16 peer_libtorch .../resnet50.onnx THREADS BATCH SECONDS
#include "plain_loop.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <deque>
#include <string>
#include <vector>

namespace {

using at::Tensor;

// Weights are made in the first run and used again, in the order of the layers.
class Layers {
 public:
  explicit Layers(at::ScalarType type) : type_(type) {}
  void rewind() { next_ = 0; }

  Tensor convolution(const Tensor& x, int64_t out, int64_t kernel, int64_t stride, int64_t groups = 1) {
    const Tensor& weight = parameter({out, x.size(1) / groups, kernel, kernel}, 0.05);
    return at::conv2d(x, weight, {}, stride, kernel / 2, 1, groups);
  }
  Tensor batch_norm(const Tensor& x) {
    const Tensor& gain = parameter({x.size(1)}, 1);
    const Tensor& offset = parameter({x.size(1)}, 1);
    const Tensor& mean = parameter({x.size(1)}, 1);
    const Tensor& variance = parameter({x.size(1)}, 1);
    return at::batch_norm(x, gain, offset, mean, variance, false, 0.1, 1e-5, false);
  }
  Tensor classifier(const Tensor& x) {
    const Tensor pooled = at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1);
    return at::linear(pooled, parameter({1000, x.size(1)}, 0.05), parameter({1000}, 1));
  }
  at::ScalarType type() const { return type_; }

 private:
  const Tensor& parameter(const std::vector<int64_t>& shape, double scale) {
    if (next_ == parameters_.size()) parameters_.push_back(at::rand(shape, at::kFloat).mul_(scale).to(type_));
    return parameters_[next_++];
  }
  at::ScalarType type_;
  std::deque<Tensor> parameters_;
  size_t next_ = 0;
};

Tensor resnet50(Layers& net, Tensor x) {
  x = at::relu(net.batch_norm(net.convolution(x, 64, 7, 2)));
  x = at::max_pool2d(x, 3, 2, 1);
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t width = 64 << stage;
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      Tensor y = at::relu(net.batch_norm(net.convolution(x, width, 1, 1)));
      y = at::relu(net.batch_norm(net.convolution(y, width, 3, stride)));
      y = net.batch_norm(net.convolution(y, 4 * width, 1, 1));
      if (block == 0) x = net.batch_norm(net.convolution(x, 4 * width, 1, stride));
      x = at::relu(at::add(y, x));
    }
  }
  return net.classifier(x);
}

Tensor mobilenet_v2(Layers& net, Tensor x) {
  struct Stage {
    int64_t expansion, channels, blocks, stride;
  };
  x = at::relu6(net.batch_norm(net.convolution(x, 32, 3, 2)));
  for (const Stage& stage :
       {Stage{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}) {
    for (int64_t block = 0; block < stage.blocks; ++block) {
      const int64_t stride = block == 0 ? stage.stride : 1, hidden = x.size(1) * stage.expansion;
      Tensor y = stage.expansion == 1 ? x : at::relu6(net.batch_norm(net.convolution(x, hidden, 1, 1)));
      y = at::relu6(net.batch_norm(net.convolution(y, hidden, 3, stride, hidden)));
      y = net.batch_norm(net.convolution(y, stage.channels, 1, 1));
      x = stride == 1 && x.size(1) == stage.channels ? at::add(x, y) : y;
    }
  }
  return net.classifier(at::relu6(net.batch_norm(net.convolution(x, 1280, 1, 1))));
}

at::ScalarType precision() {
  const char* named = std::getenv("PEER_PRECISION");
  const std::string name = named == nullptr ? "fp32" : named;
  if (name == "fp32") return at::kFloat;
  if (name == "bf16") return at::kBFloat16;
  if (name == "fp16") return at::kHalf;
  std::fprintf(stderr, "peer_libtorch: no loop for precision %s\n", name.c_str());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = deepgap::peers::parse(argc, argv);
  const bool resnet = arguments.file.find("resnet50") != std::string::npos;
  if (!resnet && arguments.file.find("mobilenet_v2") == std::string::npos) {
    std::fprintf(stderr, "peer_libtorch: no loop for %s, only resnet50 and mobilenet_v2\n", arguments.file.c_str());
    return 2;
  }
  at::set_num_threads(arguments.threads);
  const c10::InferenceMode inference;
  Layers net(precision());
  const Tensor x = at::rand({arguments.batch, 3, 224, 224}).to(net.type());
  deepgap::peers::run(arguments, [&] {
    net.rewind();
    (resnet ? resnet50 : mobilenet_v2)(net, x);
  });
  return 0;
}
