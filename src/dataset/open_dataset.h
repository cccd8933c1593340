// Chooses and makes a Dataset for a Model's inputs.
#pragma once

#include <deepgap/dataset.h>
#include <deepgap/graph.h>

#include "model/integer_values.h"
#include "model/zoo/zoo.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

struct DatasetRequest {
  std::string name = "seeded";  // seeded, zeros, pictures (the packaged ones of data/pictures), a folder of pictures or .npy, an ONNX test
                                // folder, one file
  std::vector<TensorInfo> inputs;  // the Model's inputs; every size but the batch known
  Preprocessing preprocessing;
  std::map<std::string, IntegerRange> integer_values;  // for the seeded kind; an input not named has 0 to 99
  std::map<std::string, std::vector<double>>
      numbers;  // that inputs hold in every sample, whatever the kind; one stands for all of an input
  uint64_t seed = 1;
  size_t size = 64;  // number of samples of the seeded kinds
  std::string data_dir;
  std::string labels;        // a file; empty: the dataset's own labels
  int64_t label_offset = 0;  // added to each label
  int64_t classes = 0;       // number of classes that the network distinguishes; 0: not known
  std::map<std::string, std::string> options;
};

// Throws Error{usage} for an unknown name, Error{input} naming the file. Reads no picture's pixels yet, but checks that files exist.
std::unique_ptr<Dataset> open_dataset(const DatasetRequest& request);

}  // namespace deepgap
