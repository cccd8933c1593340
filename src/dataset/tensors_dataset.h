// The base of every Dataset here: it holds loaded samples as owned tensors. A kind only says how one sample is made.
#pragma once

#include "dataset/labels.h"
#include "dataset/open_dataset.h"

#include <deepgap/dataset.h>
#include <deepgap/graph.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

class TensorsDataset : public Dataset {
 public:
  void load(std::span<const uint32_t> indices) final;
  void unload(std::span<const uint32_t> indices) final;
  std::vector<TensorView> sample(uint32_t index) const final;
  std::optional<int64_t> label(uint32_t index) const final;
  void set_labels(Labels labels);  // labels all samples; call it before anything else
  // The numbers that the request names inputs for take the place of what the kind makes. Before anything is loaded. Throws Error{usage} for
  // an input that is not there or holds another number of them.
  void give(const DatasetRequest& request);

 protected:
  std::string label_note() const;  // for descriptions: ", labels by val_map.txt", or nothing
  // All input tensors of sample `index` < size(), batch dimension 1. Throws Error{input}.
  virtual std::vector<Tensor> make(uint32_t index) = 0;

 private:
  std::map<uint32_t, std::vector<Tensor>> loaded_;
  std::map<size_t, Tensor> given_;  // by input
  Labels labels_;
};

// The shapes of one sample's tensors: batch dimension 1 where the inputs share one, whole inputs where they do not (deepgap/batching.h).
// Throws Error{usage} naming the input and --shape where a size is not known.
std::vector<Shape> sample_shapes(const std::vector<TensorInfo>& inputs);

// Prints an input's shape: [1,3,224,224].
std::string shape_text(std::span<const int64_t> shape);

}  // namespace deepgap
