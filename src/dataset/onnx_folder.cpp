#include "dataset/kinds.h"
#include "dataset/tensors_dataset.h"
#include "model/onnx_test_set.h"

#include <deepgap/batching.h>
#include <deepgap/error.h>

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

namespace deepgap {
namespace {

// Part `index` of `count` equal ones along the first dimension, with bytes of its own.
Tensor part_of(const Tensor& whole, int64_t index, int64_t count) {
  if (count == 1) return whole;
  Shape shape = whole.shape;
  shape.front() /= count;
  Tensor part = make_tensor(whole.type, std::move(shape));
  if (part.bytes() > 0) {
    const std::byte* from = whole.data.get() + static_cast<size_t>(index) * part.bytes();
    std::memcpy(writable<std::byte>(part).data(), from, part.bytes());
  }
  return part;
}

// Sets hold different numbers of samples, so that each is read when the Dataset is made; its tensors are kept until then only.
class OnnxFolderDataset : public TensorsDataset {
 public:
  OnnxFolderDataset(const DatasetRequest& request, const std::vector<std::string>& sets)
      : inputs_(request.inputs), shapes_(sample_shapes(inputs_)), sets_(sets.size()) {
    for (const TensorInfo& input : inputs_) names_.push_back(input.name);
    for (const std::string& set : sets) {
      const int64_t count = samples_in(test_inputs(set, names_));
      for (int64_t part = 0; part < count; ++part) samples_.push_back({set, part, count});
    }
  }
  std::string describe() const override {
    return (samples_.size() == sets_ ? fmt::format("{} ONNX test sets", sets_)
                                     : fmt::format("{} samples of {} ONNX test sets", samples_.size(), sets_)) +
           label_note();
  }
  size_t size() const override { return samples_.size(); }
  std::string sample_name(uint32_t index) const override {
    const Place& place = samples_[index];
    const std::string set = std::filesystem::path(place.set).filename().string();
    return place.count == 1 ? set : fmt::format("{}:{}", set, place.part);
  }

 protected:
  std::vector<Tensor> make(uint32_t index) override {
    const Place& place = samples_[index];
    std::vector<Tensor> tensors;
    for (const TestTensor& given : test_inputs(place.set, names_)) tensors.push_back(part_of(given.tensor, place.part, place.count));
    return tensors;
  }

 private:
  struct Place {
    std::string set;
    int64_t part = 0, count = 1;
  };

  // Returns the number of samples in a set, whose tensors must all hold the same multiple of what the inputs take.
  int64_t samples_in(const std::vector<TestTensor>& tensors) const {
    const bool divided = batching_of(inputs_).kind != Batching::Kind::whole && !tensors.front().tensor.shape.empty();
    const int64_t count = divided ? tensors.front().tensor.shape.front() / std::max<int64_t>(shapes_.front().front(), 1) : 1;
    for (size_t i = 0; i < tensors.size(); ++i) {
      Shape expected = shapes_[i];
      if (divided && !expected.empty()) expected.front() *= count;
      const Tensor& tensor = tensors[i].tensor;
      if (tensor.type == inputs_[i].type && tensor.shape == expected && count > 0) continue;
      throw Error(ErrorKind::input,
                  fmt::format("{} holds {} {}, input '{}' takes {} {}", tensors[i].file, name_of(tensor.type), shape_text(tensor.shape),
                              inputs_[i].name, name_of(inputs_[i].type), shape_text(shapes_[i])));
    }
    return count;
  }

  std::vector<TensorInfo> inputs_;
  std::vector<std::string> names_;
  std::vector<Shape> shapes_;
  size_t sets_;
  std::vector<Place> samples_;
};

}  // namespace

std::unique_ptr<TensorsDataset> make_onnx_folder_dataset(const DatasetRequest& request, const std::vector<std::string>& sets) {
  return std::make_unique<OnnxFolderDataset>(request, sets);
}

}  // namespace deepgap
