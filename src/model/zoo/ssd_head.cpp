#include "model/zoo/ssd_head.h"

#include <algorithm>

namespace deepgap {

namespace {

using Ints = std::vector<int64_t>;

// Corners of the boxes, [N, anchors, 4]. Offsets are scaled by 0.1 and 0.2 (the variances of SSD's first implementation).
ValueId decode(NetworkBuilder& net, ValueId offsets, const std::vector<Anchor>& anchors) {
  std::vector<float> content;
  for (const Anchor& anchor : anchors) content.insert(content.end(), {anchor.y, anchor.x, anchor.height, anchor.width});
  const ValueId table = net.numbers("anchors", {1, static_cast<int64_t>(anchors.size()), 4}, content);
  const auto moved = net.split("decode.offsets", offsets, 2, 2), from = net.split("decode.anchors", table, 2, 2);
  ValueId centre = net.node("Mul", "decode.centre_scaled", {moved[0], net.scalar("decode.centre_scale", 0.1f)});
  centre = net.node("Add", "decode.centre", {net.node("Mul", "decode.centre_moved", {centre, from[1]}), from[0]});
  ValueId size = net.node("Mul", "decode.size_scaled", {moved[1], net.scalar("decode.size_scale", 0.2f)});
  size = net.node("Mul", "decode.size", {net.node("Exp", "decode.size_exp", {size}), from[1]});
  const ValueId half = net.node("Mul", "decode.half", {size, net.scalar("decode.one_half", 0.5f)});
  const ValueId first = net.node("Sub", "decode.first", {centre, half}), last = net.node("Add", "decode.last", {centre, half});
  return net.node("Concat", "decode.boxes", {first, last}, {{"axis", int64_t{2}}});
}

// The scores of what is kept, and 0 for everything else: [N, classes, anchors].
ValueId suppress(NetworkBuilder& net, ValueId boxes, ValueId scores, const Suppression& given) {
  const ValueId kept = net.node(
      "NonMaxSuppression", "suppression",
      {boxes, scores, net.integers("suppression.most", {given.detections}), net.numbers("suppression.overlap", {1}, {given.overlap}),
       net.numbers("suppression.least_score", {1}, {given.least_score})});
  const ValueId nothing = net.node("ConstantOfShape", "suppression.nothing", {net.node("Shape", "suppression.shape", {scores})});
  return net.node("ScatterND", "suppression.scores", {nothing, kept, net.node("GatherND", "suppression.kept", {scores, kept})});
}

// Picks from `table` [N, anchors, width] the row of each listed detection's box.
ValueId rows_of(NetworkBuilder& net, const std::string& name, ValueId table, ValueId rows, ValueId filled, const std::string& output) {
  const ValueId chosen = net.node("GatherND", name + ".chosen", {table, rows}, {{"batch_dims", int64_t{1}}});
  return net.node("Mul", name, {chosen, net.node("Unsqueeze", name + ".filled", {filled, net.integers("detections.last", {2})})}, {},
                  output);
}

}  // namespace

std::vector<ValueId> detect(NetworkBuilder& net, ValueId offsets, ValueId scores, int64_t classes, const std::vector<Anchor>& anchors,
                            const Suppression& suppression) {
  const auto count = static_cast<int64_t>(anchors.size()), listed = std::min(suppression.detections, classes * count);
  const ValueId boxes = decode(net, offsets, anchors);
  const ValueId flat = net.node("Reshape", "detections.flat", {suppress(net, boxes, scores, suppression), net.integers("flat", {0, -1})});
  const auto best =
      net.node_of_many("TopK", "detections.best", {flat, net.integers("detections.count", {listed})}, {{"axis", int64_t{1}}}, 2);

  const ValueId column = net.node("Div", "detections.class", {best[1], net.integers("anchors.count", {count})});
  const ValueId before = net.node("Mul", "detections.before", {column, net.integers("anchors.count", {count})});
  const ValueId anchor = net.node("Sub", "detections.anchor", {best[1], before});
  const ValueId rows = net.node("Unsqueeze", "detections.rows", {anchor, net.integers("detections.last", {2})});
  const ValueId is_filled = net.node("Greater", "detections.is_filled", {best[0], net.scalar("detections.zero", 0.0f)});
  const ValueId filled = net.node("Cast", "detections.filled", {is_filled}, {{"to", int64_t{1}}});  // float

  const ValueId label = net.node("Add", "detections.label", {column, net.integers("detections.one", {1})});
  const ValueId by_anchor = net.node("Transpose", "detections.by_anchor", {scores}, {{"perm", Ints{0, 2, 1}}});
  return {rows_of(net, "detections.boxes", boxes, rows, filled, "boxes"),
          net.node("Identity", "detections.scores", {best[0]}, {}, "scores"),
          net.node("Mul", "detections.labels", {label, net.node("Cast", "detections.filled_int", {is_filled}, {{"to", int64_t{7}}})}, {},
                   "labels"),  // int64
          rows_of(net, "detections.class_scores", by_anchor, rows, filled, "class_scores")};
}

}  // namespace deepgap
