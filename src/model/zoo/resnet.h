// ResNet-34's body, which SSD-ResNet-34 begins with too.
#pragma once

#include "model/zoo/network_builder.h"

#include <cstdint>

namespace deepgap {

// Up to the third of its four stages, which keeps the picture's size here: an eighth of `x`'s, with 4 * `base` channels.
Feature resnet34_for_detection(NetworkBuilder& net, const Feature& x, int64_t base);

}  // namespace deepgap
