#include "dataset/kinds.h"
#include "dataset/preprocess.h"
#include "dataset/tensors_dataset.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <filesystem>

namespace deepgap {
namespace {

class PicturesDataset : public TensorsDataset {
 public:
  PicturesDataset(const DatasetRequest& request, std::vector<std::string> paths)
      : paths_(std::move(paths)), how_(request.preprocessing), shape_(picture_shape(request, how_)) {}

  std::string describe() const override {
    return fmt::format("{} pictures of {}, short side {}, crop {}, (value - [{:g}, {:g}, {:g}]) / [{:g}, {:g}, {:g}]", paths_.size(),
                       std::filesystem::path(paths_.front()).parent_path().filename().string(), how_.resize, how_.crop, how_.mean[0],
                       how_.mean[1], how_.mean[2], how_.scale[0], how_.scale[1], how_.scale[2]);
  }
  size_t size() const override { return paths_.size(); }
  std::string sample_name(uint32_t index) const override { return std::filesystem::path(paths_[index]).filename().string(); }

 protected:
  std::vector<Tensor> make(uint32_t index) override {
    Tensor tensor = make_tensor(DataType::f32, shape_);
    preprocess(decode_picture(paths_[index]), how_, writable<float>(tensor));
    return {tensor};
  }

 private:
  // Also sets the crop to the network's own input size, and the resize in proportion, where they differ.
  static Shape picture_shape(const DatasetRequest& request, Preprocessing& how) {
    if (request.inputs.size() != 1 || request.inputs[0].type != DataType::f32) {
      throw Error(ErrorKind::usage, "pictures need a model with one float32 input");
    }
    Shape shape = item_shape(request.inputs[0]);
    if (shape.size() != 4 || shape[1] != 3 || shape[2] != shape[3] || shape[2] <= 0) {
      throw Error(ErrorKind::usage, fmt::format("pictures need an input of shape [N,3,size,size], input '{}' has {}",
                                                request.inputs[0].name, shape_text(shape)));
    }
    if (shape[2] != how.crop) {
      how.resize = static_cast<int>(shape[2] * how.resize / how.crop);
      how.crop = static_cast<int>(shape[2]);
    }
    return shape;
  }

  std::vector<std::string> paths_;
  Preprocessing how_;
  Shape shape_;
};

}  // namespace

std::unique_ptr<Dataset> make_pictures_dataset(const DatasetRequest& request, std::vector<std::string> paths) {
  return std::make_unique<PicturesDataset>(request, std::move(paths));
}

}  // namespace deepgap
