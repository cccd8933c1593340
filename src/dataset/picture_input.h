// Datasets made of pictures: what they share, and crops.
#pragma once

#include "dataset/open_dataset.h"
#include "dataset/tensors_dataset.h"

namespace deepgap {

// The shape of the network's one picture input, batch dimension 1. Sets the crop to that size, and the resize in proportion, where they
// differ. Throws Error{usage} for a network that takes no pictures.
Shape picture_input_shape(const DatasetRequest& request, Preprocessing& how);
// "(value - [127, 127, 127]) / [128, 128, 128]", for descriptions.
std::string normalizing_text(const Preprocessing& how);

// See crops.cpp. `paths` is not empty; request.name is "crops" or "crops:seed=7,count=1000".
std::unique_ptr<TensorsDataset> make_crops_dataset(const DatasetRequest& request, std::vector<std::string> paths);

}  // namespace deepgap
