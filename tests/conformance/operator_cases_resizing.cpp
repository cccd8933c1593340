// Resize and Upsample in all their modes; GridSample.
#include "operator_cases.h"

#include <utility>

namespace deepgap::conformance {
namespace {

using Texts = std::map<std::string, std::string>;

Attributes attributes_of(const Texts& texts) {
  Attributes attributes;
  for (const auto& [name, text] : texts) attributes[name] = text;
  return attributes;
}

ValueId picture(GraphBuilder& net) {
  Random& random = net.random();
  return net.input({random.between(1, 5), random.between(2, 9), random.between(2, 9)});
}

ValueId scales(GraphBuilder& net, const std::vector<float>& factors) {
  Tensor tensor = make_tensor(DataType::f32, {4});
  writable<float>(tensor)[0] = writable<float>(tensor)[1] = 1;
  for (size_t i = 2; i < 4; ++i) writable<float>(tensor)[i] = net.random().one_of(factors);
  return net.constant(std::move(tensor));
}

// The sizes, of which the first two stay as they are; the height is `least` at least.
ValueId sizes(GraphBuilder& net, ValueId x, int64_t least = 1) {
  Random& random = net.random();
  const ValueId kept = net.node("Slice", {net.node("Shape", {x}), net.ints({0}), net.ints({2})});
  return net.node("Concat", {kept, net.ints({random.between(least, 14), random.between(1, 14)})}, {{"axis", int64_t{0}}});
}

// What exporters give where opset 11 wants a tensor and there is nothing to say.
ValueId nothing(GraphBuilder& net) { return net.opset() < 13 ? net.floats({0}) : no_value; }

Graph resized(GraphBuilder& net, const Texts& texts) {
  const ValueId x = picture(net);
  if (net.random().chance(0.5))
    return net.finish({net.node("Resize", {x, nothing(net), nothing(net), sizes(net, x)}, attributes_of(texts))});
  return net.finish({net.node("Resize", {x, nothing(net), scales(net, {2, 3, 1, 0.5f, 1.5f, 0.7f, 2.6f})}, attributes_of(texts))});
}

Graph cubic(GraphBuilder& net, bool inside_only) {
  const ValueId x = picture(net);
  Attributes attributes{{"mode", std::string("cubic")}, {"cubic_coeff_a", net.random().one_of<float>({-0.75f, -0.5f})}};
  if (inside_only) attributes["exclude_outside"] = int64_t{1};
  return net.finish({net.node("Resize", {x, no_value, scales(net, {2, 0.5f, 1.5f, 0.8f})}, attributes)});
}

// Parts of the picture and, with those beyond it, a value; to another height, so that most cases are none of ONNX Runtime's known fault.
Graph cropped(GraphBuilder& net, const std::string& mode) {
  Random& random = net.random();
  const ValueId x = picture(net);
  Tensor crop = make_tensor(DataType::f32, {8});
  const std::vector<float> begins{0, 0.25f, -0.25f}, ends{1, 0.75f, 1.5f};
  for (size_t i = 0; i < 4; ++i) {
    writable<float>(crop)[i] = i < 2 ? 0 : random.one_of(begins);
    writable<float>(crop)[i + 4] = i < 2 ? 1 : random.one_of(ends);
  }
  const Attributes attributes{
      {"mode", mode}, {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}, {"extrapolation_value", random.value(2, 3)}};
  return net.finish({net.node("Resize", {x, net.constant(crop), no_value, sizes(net, x, 10)}, attributes)});
}

Graph by_policy(GraphBuilder& net) {
  Random& random = net.random();
  Attributes attributes{{"mode", random.one_of<std::string>({"nearest", "linear"})},
                        {"keep_aspect_ratio_policy", random.one_of<std::string>({"not_larger", "not_smaller"})},
                        {"axes", std::vector<int64_t>{2, 3}}};
  return net.finish(
      {net.node("Resize", {picture(net), no_value, no_value, net.ints({random.between(2, 12), random.between(2, 12)})}, attributes)});
}

Graph along_one_axis(GraphBuilder& net) {
  const ValueId x = net.input({net.random().between(1, 4), net.random().between(2, 9)});
  Attributes attributes{{"axes", std::vector<int64_t>{-1}}, {"coordinate_transformation_mode", std::string("asymmetric")}};
  return net.finish({net.node("Resize", {x, no_value, no_value, net.ints({net.random().between(1, 14)})}, attributes)});
}

// Scales are input 1 to opset 10, and an attribute of Upsample-7.
Graph older(GraphBuilder& net, const std::string& op) {
  Random& random = net.random();
  const ValueId x = picture(net);
  Attributes attributes{{"mode", random.one_of<std::string>({"nearest", "linear"})}};
  if (net.opset() >= 9)
    return net.finish({net.node(
        op, {x, scales(net, op == "Upsample" ? std::vector<float>{1, 2, 3, 1.5f} : std::vector<float>{2, 0.6f, 1.5f})}, attributes)});
  attributes["scales"] = std::vector<float>{1, 1, random.one_of<float>({1, 2, 3}), random.one_of<float>({1, 2, 1.5f})};
  return net.finish({net.node(op, {x}, attributes)});
}

// Where the grid says, within the picture and a little beyond it.
Graph sampled(GraphBuilder& net) {
  Random& random = net.random();
  const ValueId x = picture(net), grid = net.input({random.between(1, 6), random.between(1, 6), 2});
  const bool newer = net.opset() >= 20;
  const Attributes attributes{{"mode", random.one_of<std::string>({newer ? "linear" : "bilinear", "nearest", newer ? "cubic" : "bicubic"})},
                              {"padding_mode", random.one_of<std::string>({"zeros", "border", "reflection"})},
                              {"align_corners", random.between(0, 1)}};
  return net.finish({net.node("GridSample", {x, net.node("Mul", {grid, net.floats({}, 1.3f, 1.3f)})}, attributes)});
}

OperatorCase one_case(const std::string& name, int opset, std::function<Graph(GraphBuilder&)> build) {
  return {name, opset, std::move(build), false};
}

}  // namespace

std::vector<OperatorCase> resizing_cases() {
  std::vector<OperatorCase> cases{
      one_case("Resize cubic", 17, [](GraphBuilder& net) { return cubic(net, false); }),
      one_case("Resize cubic inside", 17, [](GraphBuilder& net) { return cubic(net, true); }),
      one_case("Resize crop nearest", 17, [](GraphBuilder& net) { return cropped(net, "nearest"); }),
      one_case("Resize crop linear", 17, [](GraphBuilder& net) { return cropped(net, "linear"); }),
      one_case("Resize by policy", 18, by_policy),
      one_case("Resize along one axis", 18, along_one_axis),
      one_case("GridSample", 16, sampled),
      one_case("GridSample opset 20", 20, sampled),
      one_case("Resize opset 10", 10, [](GraphBuilder& net) { return older(net, "Resize"); }),
      one_case("Upsample opset 7", 7, [](GraphBuilder& net) { return older(net, "Upsample"); }),
      one_case("Upsample opset 9", 9, [](GraphBuilder& net) { return older(net, "Upsample"); }),
  };
  const auto add = [&](int opset, const Texts& texts) {
    std::string name = "Resize";
    for (const auto& [attribute, text] : texts) name += " " + text;
    cases.push_back(one_case(name, opset, [texts](GraphBuilder& net) { return resized(net, texts); }));
  };
  const std::string coordinates = "coordinate_transformation_mode";
  for (const char* where : {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
    for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      add(13, {{"mode", "nearest"}, {coordinates, where}, {"nearest_mode", rounding}});
    add(11, {{"mode", "linear"}, {coordinates, where}});
    add(17, {{"mode", "cubic"}, {coordinates, where}});
  }
  add(11, {{"mode", "nearest"}, {coordinates, "tf_half_pixel_for_nn"}, {"nearest_mode", "floor"}});
  add(19, {{"mode", "linear"}, {coordinates, "half_pixel_symmetric"}});
  return cases;
}

}  // namespace deepgap::conformance
