// NonMaxSuppression, and what reads the list of boxes it keeps, to a result of a known size. The list has room for as many rows as can be
// kept; rows that hold nothing start with -1, and what comes of them is left out where rows are put together: by ScatterND, by a sum.
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_file.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

namespace deepgap::gpu {
namespace {

struct Suppression {
  int64_t pictures = 1, classes = 1, boxes = 1;
  int64_t most = 0;  // limit per class
  float overlap = 0, least_score = 0;
  bool is_centre = false;  // boxes are x, y, width, height of the centre
};

Launch suppression_kernel(const std::vector<Operand>& in, const Suppression& s) {
  int64_t threads = 32;
  while (threads < 512 && threads < s.boxes) threads *= 2;
  const std::string entry = kernel_name("suppression");
  std::string text = fmt::format("typedef long long I;\n{}", generated_prelude());
  text +=
      fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(const {}* x0, const {}* x1, float* left, long long* kept) {{\n",
                  threads, entry, c_type(in[0].form.element), c_type(in[1].form.element));
  text += fmt::format(
      "  constexpr int THREADS = {};\n  constexpr long long CLASSES = {}, BOXES = {}, MOST = {};\n  constexpr bool CENTRE = {};\n", threads,
      s.classes, s.boxes, s.most, s.is_centre);
  const std::string least = s.least_score == -std::numeric_limits<float>::infinity() ? "nothing" : number_text(s.least_score);
  std::string body = kernel_file("suppression");
  const auto put = [&](const std::string& what, const std::string& with) {
    for (size_t at = body.find(what); at != std::string::npos; at = body.find(what, at + with.size())) body.replace(at, what.size(), with);
  };
  for (const char* k : {"0", "1", "2", "3"}) put(fmt::format("COORDINATE({})", k), element_at(in, 0, {"c0", "k", k}));
  put("= SCORE;", "= " + element_at(in, 1, {"c0", "c1", "k"}) + ";");
  put("LEAST", least);
  put("OVERLAP", number_text(s.overlap));
  Launch launch = launch_over(entry, text + body + "}\n", 1, 4, static_cast<unsigned>(threads));
  launch.grid = {static_cast<unsigned>(s.pictures * s.classes), 1, 1};
  return launch;
}

// The body's nodes as those of the Graph around, with values as large as they can become.
class Region {
 public:
  Region(Lowering& lowering, const Operation& operation) : lowering_(lowering), operation_(operation) {}

  bool lower() {
    const Node& node = *operation_.node;
    const Graph& body = *std::get<std::shared_ptr<const Graph>>(node.attributes.at("body"));
    for (size_t i = 0; i < body.inputs.size(); ++i) outer_[body.inputs[i]] = node.inputs[i];
    for (size_t i = 0; i < body.outputs.size(); ++i) outer_[body.outputs[i]] = node.outputs[i];
    for (const Node& part : body.nodes) {
      Node one = part;
      for (ValueId& id : one.inputs) id = id == no_value ? id : outer_.at(id);
      if (!lower(body, one)) lowering_.refuse(operation_, fmt::format("with {} (node {}) in it", part.op, part.name));
    }
    return true;
  }

 private:
  bool is_list(ValueId id) const { return std::find(lists_.begin(), lists_.end(), id) != lists_.end(); }

  // The outer value for output `index` of a body's node, of this shape where its own is not known.
  ValueId result(const Graph& body, Node& node, size_t index, const Shape& shape) {
    const ValueId inner = node.outputs.at(index);
    if (const auto known = outer_.find(inner); known != outer_.end()) return node.outputs[index] = known->second;
    return node.outputs[index] = outer_[inner] = lowering_.add_value(body.values[static_cast<size_t>(inner)].type, shape);
  }

  bool lower(const Graph& body, Node& node) {
    if (node.op == "NonMaxSuppression" && node.domain.empty()) return suppress(body, node);
    if (!kept_) return false;
    if (node.op == "GatherND") return gather(body, node);
    if (node.op == "ScatterND") return scatter(body, node);
    if (node.op == "ReduceSum") return sum(body, node);
    return pointwise(body, node);
  }

  bool suppress(const Graph& body, Node& node) {
    const NodeReader inputs = lowering_.reader(node);
    if (kept_ || inputs.is_open(2) || inputs.is_open(3) || inputs.is_open(4)) return false;
    const std::vector<Operand> in{lowering_.native(node.inputs[0]), lowering_.native(node.inputs[1])};
    if (kind_of(in[0].form.element) != Kind::number || kind_of(in[1].form.element) != Kind::number) return false;
    Suppression s{.pictures = in[1].shape.at(0), .classes = in[1].shape.at(1), .boxes = in[1].shape.at(2)};
    s.most = std::min(inputs.has(2) ? inputs.integers(2).at(0) : 0, s.boxes);
    s.overlap = inputs.has(3) ? static_cast<float>(inputs.number(3)) : 0;
    s.least_score = inputs.has(4) ? static_cast<float>(inputs.number(4)) : -std::numeric_limits<float>::infinity();
    s.is_centre = attribute_int(node, "center_point_box", 0) != 0;
    if (s.most <= 0 || s.pictures * s.classes == 0 || s.boxes >= std::numeric_limits<int32_t>::max()) return false;
    const Shape rows{s.pictures * s.classes * s.most, 3}, scores{s.pictures * s.classes * s.boxes};
    const Operand left = lowering_.write(lowering_.add_value(DataType::f32, scores), plain_form(Element::f32, scores));
    kept_ = lowering_.write(result(body, node, 0, rows), plain_form(Element::i64, rows));
    list_ = node.outputs[0];
    lists_.push_back(list_);
    lowering_.step(operation_, suppression_kernel(in, s), in, {left, *kept_});
    return true;
  }

  // A row that holds nothing reads something that exists; its result is left out later.
  bool gather(const Graph& body, Node& node) {
    if (!is_list(node.inputs[1]) || is_list(node.inputs[0]) || attribute_int(node, "batch_dims", 0) != 0) return false;
    const Shape &data = lowering_.shape(node.inputs[0]), &places = lowering_.shape(node.inputs[1]);
    Shape shape{places[0]};
    shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(places.back()), data.end());
    lists_.push_back(result(body, node, 0, shape));
    return lower_operation(lowering_, operation_of(lowering_.graph(), node));
  }

  bool pointwise(const Graph& body, Node& node) {
    Shape shape;
    for (ValueId id : node.inputs)
      if (id != no_value && is_list(id)) shape = lowering_.shape(id);
    for (ValueId id : node.inputs)  // rows stay rows
      if (id != no_value && !is_list(id) && element_count(lowering_.shape(id)) != 1) return false;
    lists_.push_back(result(body, node, 0, shape));
    return node.outputs.size() == 1 && pointwise_rule(lowering_, node) && lower_pointwise(lowering_, operation_of(lowering_.graph(), node));
  }

  // Rows name each place once, so each thread has a row of its own.
  bool scatter(const Graph& body, Node& node) {
    if (node.inputs[1] != list_ || !is_list(node.inputs[2]) || attribute_string(node, "reduction", "none") != "none") return false;
    const std::vector<Operand> in{lowering_.native(node.inputs[0]), *kept_, lowering_.native(node.inputs[2])};
    if (in[0].shape.size() != 3) return false;
    const Element element = in[0].form.element;
    const Operand out = lowering_.write(result(body, node, 0, in[0].shape), plain_form(element, in[0].shape));
    lowering_.step(operation_,
                   element_kernel("copy", {out, {in[0]}, kind_of(element), fmt::format("  r = {};", element_here({in[0]}, 0, out.shape))}),
                   {in[0]}, {out});
    const std::string entry = kernel_name("scatter");
    const int64_t rows = kept_->shape[0];
    std::string text = fmt::format(
        "typedef long long I;\n{}extern \"C\" __global__ void __launch_bounds__(256) {}(const long long* x0, const {}* x1, {}* out) {{\n  "
        "let_next_begin();\n  const I i = I(blockIdx.x) * 256 + threadIdx.x;\n  wait_for_previous();\n  if (i >= {} || x0[3 * i] < 0) "
        "return;\n",
        generated_prelude(), entry, c_type(in[2].form.element), c_type(element), rows);
    const std::string value = convert_text(kind_of(in[2].form.element), kind_of(element), element_at({in[1], in[2]}, 1, {"i"}));
    text += fmt::format("  out[x0[3 * i] * {} + x0[3 * i + 1] * {} + x0[3 * i + 2]] = {};\n}}\n", out.strides[0], out.strides[1],
                        store_text(element, kind_of(element), value));
    lowering_.step(operation_, launch_over(entry, std::move(text), rows, 3), {in[1], in[2]}, {out});
    return true;
  }

  bool sum(const Graph& body, Node& node) {
    const NodeReader inputs = lowering_.reader(node);
    const auto axes = inputs.ints_or_input("axes", 1, {});
    if (!is_list(node.inputs[0]) || axes.size() != 1 || axes[0] != 0) return false;
    const std::vector<Operand> in{lowering_.native(node.inputs[0]), *kept_};
    Shape shape = in[0].shape;
    const bool keeps = attribute_int(node, "keepdims", 1) != 0;
    if (keeps)
      shape[0] = 1;
    else
      shape.erase(shape.begin());
    const ValueId id = result(body, node, 0, shape);
    const Operand out = lowering_.write(id, plain_form(lowering_.stored(id), shape));
    std::vector<std::string> places{"k"};
    for (size_t axis = 1; axis < in[0].shape.size(); ++axis) places.push_back(fmt::format("c{}", keeps ? axis : axis - 1));
    const std::string text = fmt::format("  r = 0;\n  for (long long k = 0; k < {}; ++k)\n    if ({} >= 0) r += {};", in[0].shape[0],
                                         element_at(in, 1, {"k", "0"}), element_at(in, 0, places));
    lowering_.step(operation_, element_kernel("ReduceSum", {out, in, kind_of(in[0].form.element), text}), in, {out});
    return true;
  }

  Lowering& lowering_;
  const Operation& operation_;
  std::map<ValueId, ValueId> outer_;  // by the body's value
  std::vector<ValueId> lists_;        // outer values that have a row for each of kept_
  std::optional<Operand> kept_;       // [rows, 3]
  ValueId list_ = no_value;
};

}  // namespace

bool is_region(const Node& node) { return node.op == "Region" && node.domain == "deepgap"; }

bool lower_region(Lowering& lowering, const Operation& operation) { return Region(lowering, operation).lower(); }

}  // namespace deepgap::gpu
