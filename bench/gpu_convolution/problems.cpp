#include "problems.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

namespace deepgap::bench {
namespace {

using gpu::ComputeType;
using gpu::Convolution;
using gpu::Element;
using gpu::EpilogueStep;

enum class Activation { none, relu, relu6, gelu, silu };

struct Layer {
  int64_t size, in, out, kernel = 1, stride = 1, groups = 1;
  bool add = false;
  Activation activation = Activation::relu;
  int64_t width = 0;  // width of the image; 0: as high
  int64_t dilation = 1, pad_before = -1, pad_after = -1;
};

double gelu(double v) { return 0.5 * v * (1 + std::erf(v * 0.70710678118654752)); }
double silu(double v) { return v / (1 + std::exp(-v)); }
double same(double v) { return v; }

std::vector<Layer> resnet(const std::vector<int64_t>& blocks, bool bottleneck) {
  std::vector<Layer> layers{{224, 3, 64, 7, 2}};
  int64_t in = 64, size = 56;
  for (size_t stage = 0; stage < blocks.size(); stage++) {
    const int64_t width = 64 << stage, out = bottleneck ? width * 4 : width;
    for (int64_t block = 0; block < blocks[stage]; block++) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1, next = size / stride;
      if (block == 0 && (stride == 2 || in != out)) layers.push_back({size, in, out, 1, stride, 1, false, Activation::none});
      if (bottleneck) layers.push_back({size, in, width});
      layers.push_back({size, bottleneck ? width : in, width, 3, stride});
      layers.push_back({next, width, out, bottleneck ? 1 : 3, 1, 1, true});
      in = out;
      size = next;
    }
  }
  layers.push_back({1, in, 1000, 1, 1, 1, false, Activation::none});
  return layers;
}

std::vector<Layer> mobilenet_v2() {
  std::vector<Layer> layers{{224, 3, 32, 3, 2, 1, false, Activation::relu6}};
  const std::vector<std::array<int64_t, 4>> rows{{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  int64_t in = 32, size = 112;
  for (const auto& [expand, out, count, first_stride] : rows)
    for (int64_t i = 0; i < count; i++) {
      const int64_t stride = i == 0 ? first_stride : 1, middle = in * expand;
      if (expand > 1) layers.push_back({size, in, middle, 1, 1, 1, false, Activation::relu6});
      layers.push_back({size, middle, middle, 3, stride, middle, false, Activation::relu6});
      size /= stride;
      layers.push_back({size, middle, out, 1, 1, 1, stride == 1 && in == out, Activation::none});
      in = out;
    }
  layers.push_back({7, 320, 1280, 1, 1, 1, false, Activation::relu6});
  layers.push_back({1, 1280, 1000, 1, 1, 1, false, Activation::none});
  return layers;
}

// Products of a transformer with `rows` rows of 768.
std::vector<Layer> transformer(int64_t rows) {
  const auto product = [rows](int64_t in, int64_t out, bool add, Activation activation) {
    return Layer{1, in, out, 1, 1, 1, add, activation, rows};
  };
  return {product(768, 2304, false, Activation::none), product(768, 768, true, Activation::none),
          product(768, 3072, false, Activation::gelu), product(3072, 768, true, Activation::none)};
}

std::vector<Layer> odd() {
  const auto none = Activation::none;
  return {{1, 1, 1, 1, 1, 1, false, none},
          {1, 7, 9, 1, 1, 1, true},
          {5, 3, 5, 3},
          {9, 20, 36, 3, 2, 1, true},
          {7, 24, 40, 5, 1, 1, false, Activation::silu},
          {11, 48, 17, 3, 1, 1, true, Activation::relu6, 6},
          {12, 32, 64, 3, 1, 1, false, Activation::relu, 0, 2},
          {10, 16, 32, 4, 2, 1, false, none, 13, 1, 0, 1},
          {8, 64, 96, 3, 1, 1, true, Activation::relu, 0, 1, 2, 0},
          {8, 64, 64, 3, 1, 4, true},
          {6, 128, 128, 3, 1, 32, false},
          {9, 12, 24, 3, 1, 3, false},
          {9, 30, 30, 3, 2, 30, true, Activation::relu6},
          {8, 24, 24, 5, 1, 24, false, Activation::silu, 11},
          {15, 40, 40, 3, 1, 40, false, none, 7, 2},
          {7, 8, 16, 3, 1, 8, false},
          {32, 3, 96, 16, 16, 1, false, none, 0, 1, 0, 0},
          {14, 136, 264, 1, 1, 1, true},
          {3, 520, 130, 3, 1, 1, false},
          {1, 2048, 1000, 1, 1, 1, false, none},
          {70, 64, 64, 7, 3, 1, false, Activation::gelu}};
}

ComputeType compute_of(const std::string& precision) {
  static const std::map<std::string, ComputeType> known{{"f32", ComputeType::f32},   {"tf32", ComputeType::tf32}, {"f16", ComputeType::f16},
                                                        {"bf16", ComputeType::bf16}, {"i8", ComputeType::i8},     {"u8", ComputeType::i8},
                                                        {"f8", ComputeType::f8}};
  return known.at(precision);
}

Element element_of(const std::string& precision) {
  static const std::map<std::string, Element> known{{"f32", Element::f32},   {"tf32", Element::f32}, {"f16", Element::f16},
                                                    {"bf16", Element::bf16}, {"i8", Element::i8},    {"u8", Element::u8},
                                                    {"f8", Element::e4m3}};
  return known.at(precision);
}

void add_activation(NamedProblem& named, Activation activation) {
  constexpr float no_bound = std::numeric_limits<float>::infinity();
  using Step = EpilogueStep;
  static const std::map<Activation, std::tuple<const char*, Step, double (*)(double)>> known{
      {Activation::relu, {"relu", Step::clamped(0, no_bound), nullptr}},
      {Activation::relu6, {"relu6", Step::clamped(0, 6), nullptr}},
      {Activation::gelu, {"gelu", {Step::Kind::activation, "near_gelu(v)"}, gelu}},
      {Activation::silu, {"silu", {Step::Kind::activation, "v / (1.0f + expf(-v))"}, silu}}};
  named.activation = same;
  if (activation == Activation::none) return;
  const auto& [name, step, function] = known.at(activation);
  named.name += fmt::format(" {}", name);
  named.problem.epilogue.steps.push_back(step);
  if (function != nullptr) named.activation = function;
}

void set_picture(Convolution& problem, const Layer& layer) {
  const int64_t reach = (layer.kernel - 1) * layer.dilation;
  const int64_t before = layer.pad_before >= 0 ? layer.pad_before : reach / 2, after = layer.pad_after >= 0 ? layer.pad_after : reach / 2;
  problem.in_h = layer.size;
  problem.in_w = layer.width > 0 ? layer.width : layer.size;
  problem.kernel_h = problem.kernel_w = layer.kernel;
  problem.stride_h = problem.stride_w = layer.stride;
  problem.dilation_h = problem.dilation_w = layer.dilation;
  problem.pad_top = problem.pad_left = before;
  problem.out_h = (problem.in_h + before + after - reach - 1) / layer.stride + 1;
  problem.out_w = (problem.in_w + before + after - reach - 1) / layer.stride + 1;
}

NamedProblem problem_of(const std::string& network, const Layer& layer, const std::string& precision, int64_t batch) {
  NamedProblem named;
  Convolution& problem = named.problem;
  problem.compute = compute_of(precision);
  problem.source = element_of(precision);
  problem.source_zero = precision == "u8" ? 117 : 0;
  problem.batch = batch;
  set_picture(problem, layer);
  const auto unit = static_cast<int64_t>(16 / gpu::byte_size(problem.source));
  problem.in_channels = layer.in;
  problem.in_pitch = (layer.in + unit - 1) / unit * unit;
  problem.out_channels = layer.out;
  problem.out_pitch = (layer.out + unit - 1) / unit * unit;
  problem.groups = layer.groups;
  named.name = fmt::format("{} {}x{}x{}->{} {}x{}{}{}{}", network, problem.in_h, problem.in_w, layer.in, layer.out, layer.kernel,
                           layer.kernel, layer.stride > 1 ? fmt::format("/{}", layer.stride) : "",
                           layer.groups > 1 ? fmt::format(" g{}", layer.groups) : "", layer.add ? " add" : "");
  // A quantized network rounds the sums before it adds to them.
  if (layer.add && problem.compute == ComputeType::i8)
    problem.epilogue.steps.push_back(EpilogueStep::rounded(0.03f, precision == "u8" ? 125 : 0, problem.source));
  if (layer.add) problem.epilogue.steps.push_back(EpilogueStep::of(EpilogueStep::Kind::add));
  add_activation(named, layer.activation);
  problem.epilogue.target = problem.epilogue.residual = problem.source;
  // What GELU makes is for the next product alone, all else is added to.
  if (problem.compute == ComputeType::f8) {
    problem.epilogue.residual = Element::f16;
    problem.epilogue.target = layer.activation == Activation::gelu ? Element::e4m3 : Element::f16;
  }
  if (problem.compute == ComputeType::i8) {
    problem.epilogue.residual_scale = 0.02f;
    problem.epilogue.residual_zero = precision == "u8" ? 120 : 0;
    problem.epilogue.target_inverse = 40.0f;
    problem.epilogue.target_zero = precision == "u8" ? 101 : 0;
  }
  return named;
}

std::vector<Layer> layers_of(const std::string& network, int64_t batch) {
  if (network == "resnet18") return resnet({2, 2, 2, 2}, false);
  if (network == "resnet50") return resnet({3, 4, 6, 3}, true);
  if (network == "mobilenet_v2") return mobilenet_v2();
  if (network == "bert") return transformer(128 * batch);
  if (network == "vit") {
    std::vector<Layer> layers = transformer(197 * batch);
    layers.push_back({224, 3, 768, 16, 16, 1, false, Activation::none, 0, 1, 0, 0});
    return layers;
  }
  if (network == "odd") return odd();
  throw std::runtime_error("unknown network " + network + "; known: resnet18, resnet50, mobilenet_v2, vit, bert, odd");
}

}  // namespace

std::vector<NamedProblem> problems_of(const std::string& network, const std::string& precision, int64_t batch) {
  std::vector<NamedProblem> problems;
  std::set<std::string> seen;
  for (Layer layer : layers_of(network, batch)) {
    // The rows of a product are its batch; the layer carries them as the width of an image.
    const bool rows = layer.size == 1 && layer.width > 0;
    const int64_t images = rows ? layer.width : batch;
    if (rows) layer.width = 1;
    NamedProblem named = problem_of(network, layer, precision, images);
    if (rows) named.name += fmt::format(" {} rows", images);
    if (seen.insert(named.problem.key()).second) problems.push_back(std::move(named));
  }
  return problems;
}

}  // namespace deepgap::bench
