// The kinds of Dataset, each made by open_dataset.cpp from what the user named. Each factory is one file.
#pragma once

#include "dataset/open_dataset.h"
#include "dataset/tensors_dataset.h"

namespace deepgap {

std::unique_ptr<TensorsDataset> make_seeded_dataset(const DatasetRequest& request);  // pictures-like waves, or noise, from the seed
std::unique_ptr<TensorsDataset> make_zeros_dataset(const DatasetRequest& request);
// A file is a sample, in the order of `paths`, which is not empty; `name` is what they are called together. One .npy file may hold several
// samples, along its first dimension.
std::unique_ptr<TensorsDataset> make_pictures_dataset(const DatasetRequest& request, std::vector<std::string> paths,
                                                      const std::string& name);
std::unique_ptr<TensorsDataset> make_npy_dataset(const DatasetRequest& request, std::vector<std::string> paths);
// The test sets of model/onnx_test_set.h. A set whose tensors hold several samples along the batch is so many samples.
std::unique_ptr<TensorsDataset> make_onnx_folder_dataset(const DatasetRequest& request, const std::vector<std::string>& sets);

}  // namespace deepgap
