// The kinds of Dataset, each made by open_dataset.cpp from what the user named. Each factory is one file.
#pragma once

#include "dataset/open_dataset.h"
#include "dataset/tensors_dataset.h"

namespace deepgap {

std::unique_ptr<Dataset> make_seeded_dataset(const DatasetRequest& request);  // pictures-like waves, or noise, from the seed
std::unique_ptr<Dataset> make_zeros_dataset(const DatasetRequest& request);
// A file is a sample, in the order of `paths`, which is not empty; `name` is what they are called together. One .npy file may hold several
// samples, along its first dimension.
std::unique_ptr<TensorsDataset> make_pictures_dataset(const DatasetRequest& request, std::vector<std::string> paths,
                                                      const std::string& name);
std::unique_ptr<TensorsDataset> make_npy_dataset(const DatasetRequest& request, std::vector<std::string> paths);
// A folder of the ONNX project's test layout: input_0.pb, input_1.pb, ...; or one that holds test_data_set_0, test_data_set_1, ...
std::unique_ptr<TensorsDataset> make_onnx_folder_dataset(const DatasetRequest& request, const std::string& folder);
bool is_onnx_folder(const std::string& folder);
// The folders with input_0.pb: `folder` itself, or its test_data_set_* in the order of their numbers.
std::vector<std::string> onnx_test_sets(const std::string& folder);

}  // namespace deepgap
