// MobileNet-v1's body, which SSD-MobileNet-v1 begins with too.
#pragma once

#include "model/zoo/network_builder.h"

namespace deepgap {

// The layers from `first` to `last`, both included: 0 is the first convolution, 1 to 13 the pairs of a depthwise and a pointwise one.
// `width` multiplies the channels.
Feature mobilenet_v1_layers(NetworkBuilder& net, const Feature& x, int first, int last, double width);

}  // namespace deepgap
