// Measures how fast a version of oneDNN runs the convolutions of ResNet-50 in FP32: bias, ReLU and residual fused, layouts its own choice,
// no reorders. Compiles with versions 2 and 3, so that docs/results/lab-notes/onednn-choice.md can compare them:
//     cpu_engine_onednn [batch=16] [rounds=7]
// prints one line: version, batch, and the median and best images/s over the rounds.
#include <fmt/core.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <unordered_map>
#include <vector>

namespace {

using dnnl::memory;

struct Layer {
  int64_t in, out, size, kernel, stride;
  bool relu, residual;
};

std::vector<Layer> resnet50_layers() {
  std::vector<Layer> layers{{3, 64, 224, 7, 2, true, false}};
  const int64_t depth[] = {3, 4, 6, 3};
  int64_t in = 64, size = 56;
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = 64 << stage;
    for (int64_t block = 0; block < depth[stage]; ++block) {
      const int64_t stride = block == 0 && stage > 0 ? 2 : 1;
      if (block == 0) layers.push_back({in, 4 * width, size, 1, stride, false, false});
      layers.push_back({in, width, size, 1, 1, true, false});
      layers.push_back({width, width, size, 3, stride, true, false});
      size /= stride;
      layers.push_back({width, 4 * width, size, 1, 1, true, true});
      in = 4 * width;
    }
  }
  return layers;
}

struct Prepared {
  dnnl::convolution_forward primitive;
  std::unordered_map<int, memory> arguments;
};

Prepared prepare(const dnnl::engine& engine, const Layer& layer, int64_t batch) {
  const int64_t pad = layer.kernel / 2, out_size = layer.size / layer.stride;
  const auto any = [](const memory::dims& dims) { return memory::desc(dims, memory::data_type::f32, memory::format_tag::any); };
  const auto source = any({batch, layer.in, layer.size, layer.size}), weights = any({layer.out, layer.in, layer.kernel, layer.kernel});
  const auto bias = memory::desc({layer.out}, memory::data_type::f32, memory::format_tag::a);
  const auto target = any({batch, layer.out, out_size, out_size});
  dnnl::post_ops post;
  if (layer.residual) post.append_sum(1.0F);
#if DNNL_VERSION_MAJOR >= 3
  if (layer.relu) post.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#else
  if (layer.relu) post.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#endif
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(post);
  const memory::dims strides{layer.stride, layer.stride}, padding{pad, pad};
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::convolution_forward::primitive_desc description(engine, dnnl::prop_kind::forward_inference,
                                                              dnnl::algorithm::convolution_direct, source, weights, bias, target, strides,
                                                              padding, padding, attributes);
#else
  const dnnl::convolution_forward::primitive_desc description(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source, weights, bias,
                                      target, strides, padding, padding),
      attributes, engine);
#endif
  const auto filled = [&](const memory::desc& desc) {
    memory result(desc, engine);
    auto* data = static_cast<float*>(result.get_data_handle());
    for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i) data[i] = static_cast<float>(i % 251) * 0.001F - 0.12F;
    return result;
  };
  return {dnnl::convolution_forward(description),
          {{DNNL_ARG_SRC, filled(description.src_desc())},
           {DNNL_ARG_WEIGHTS, filled(description.weights_desc())},
           {DNNL_ARG_BIAS, filled(bias)},
           {DNNL_ARG_DST, filled(description.dst_desc())}}};
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t batch = argc > 1 ? std::atoll(argv[1]) : 16;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  std::vector<Prepared> net;
  for (const auto& layer : resnet50_layers()) net.push_back(prepare(engine, layer, batch));
  std::vector<double> rates;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    const auto begin = std::chrono::steady_clock::now();
    const int repeats = static_cast<int>(std::max<int64_t>(1, 16 / batch));
    for (int i = 0; i < repeats; ++i)
      for (auto& [primitive, arguments] : net) primitive.execute(stream, arguments);
    stream.wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (round >= 0) rates.push_back(static_cast<double>(repeats * batch) / took.count());
  }
  std::sort(rates.begin(), rates.end());
  const auto* version = dnnl::version();
  fmt::print("oneDNN {}.{}.{} batch {:2}: median {:.1f}, best {:.1f} images/s\n", version->major, version->minor, version->patch, batch,
             rates[rates.size() / 2], rates.back());
}
