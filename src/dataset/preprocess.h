// Turns a Picture into a network's input, as the zoo's Preprocessing says.
#pragma once

#include "dataset/picture.h"
#include "model/zoo/zoo.h"

#include <span>

namespace deepgap {

// Short side to `resize` (the long one rounded), centre crop of `crop` (its offset rounded down), scaled values in CHW order.
// `values` has 3 * crop * crop elements.
void preprocess(const Picture& picture, const Preprocessing& how, std::span<float> values);

}  // namespace deepgap
