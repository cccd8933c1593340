#include "dataset/kinds.h"
#include "dataset/picture_input.h"
#include "dataset/picture_source.h"
#include "dataset/preprocess.h"
#include "dataset/tensors_dataset.h"

#include <fmt/format.h>

#include <filesystem>

namespace deepgap {
namespace {

class PicturesDataset : public TensorsDataset, public PictureSource {
 public:
  PicturesDataset(const DatasetRequest& request, std::vector<std::string> paths, std::string name)
      : paths_(std::move(paths)), name_(std::move(name)), how_(request.preprocessing), shape_(picture_input_shape(request, how_)) {}

  std::string describe() const override {
    return fmt::format("{} images of {}, short side {}, crop {}, {}{}", paths_.size(), name_, how_.resize, how_.crop,
                       normalizing_text(how_), label_note());
  }
  size_t size() const override { return paths_.size(); }
  std::string sample_name(uint32_t index) const override { return std::filesystem::path(paths_[index]).filename().string(); }
  const std::string& path(uint32_t index) const override { return paths_[index]; }
  void fill(uint32_t /*index*/, const Picture& decoded, std::span<float> values) const override { preprocess(decoded, how_, values); }

 protected:
  std::vector<Tensor> make(uint32_t index) override {
    Tensor tensor = make_tensor(DataType::f32, shape_);
    fill(index, decode_picture(paths_[index]), writable<float>(tensor));
    return {tensor};
  }

 private:
  std::vector<std::string> paths_;
  std::string name_;
  Preprocessing how_;
  Shape shape_;
};

}  // namespace

std::unique_ptr<TensorsDataset> make_pictures_dataset(const DatasetRequest& request, std::vector<std::string> paths,
                                                      const std::string& name) {
  return std::make_unique<PicturesDataset>(request, std::move(paths), name);
}

}  // namespace deepgap
