// How a single shot detector (Liu et al., 2015) ends: offsets from anchors become boxes, non-maximum suppression keeps the best of those
// that overlap, and the best of all classes are listed. Used by the detectors of the zoo.
//
// Outputs, for the batch N and the K detections that are listed, best first; what is not filled is 0:
//   boxes         [N, K, 4]        top, left, bottom, right; the picture is 0 to 1
//   scores        [N, K]
//   labels        [N, K]           int64; the background is class 0 and never listed
//   class_scores  [N, K, classes]  of the detection's box, without the background's
// The last is what TensorFlow's detectors call detection_multiclass_scores: scores in order, and boxes where anchors are, say little of a
// picture, and an answer that is always the same would come near to them.
#pragma once

#include "model/zoo/network_builder.h"

#include <cstdint>
#include <vector>

namespace deepgap {

struct Anchor {
  float y = 0, x = 0, height = 0, width = 0;  // its centre and its size; the image is 1 high and wide
};

struct Suppression {
  float overlap = 0.5f;      // intersection over union: boxes of a class that overlap more are one
  float least_score = 0;     // boxes that score less are nothing
  int64_t detections = 100;  // the most of each class, and of all together
};

// `offsets` [N, anchors, 4] as y, x, height, width; `scores` [N, classes, anchors] without the background. Four outputs as above.
std::vector<ValueId> detect(NetworkBuilder& net, ValueId offsets, ValueId scores, int64_t classes, const std::vector<Anchor>& anchors,
                            const Suppression& suppression);

}  // namespace deepgap
