#include "base/text.h"
#include "dataset/kinds.h"
#include "dataset/tensors_dataset.h"
#include "model/onnx_reader.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

class OnnxFolderDataset : public TensorsDataset {
 public:
  OnnxFolderDataset(const DatasetRequest& request, std::vector<std::string> sets) : inputs_(request.inputs), sets_(std::move(sets)) {}
  std::string describe() const override { return fmt::format("{} ONNX test sets{}", sets_.size(), label_note()); }
  size_t size() const override { return sets_.size(); }
  std::string sample_name(uint32_t index) const override { return fs::path(sets_[index]).filename().string(); }

 protected:
  std::vector<Tensor> make(uint32_t index) override {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < inputs_.size(); ++i) tensors.push_back(read_input(fmt::format("{}/input_{}.pb", sets_[index], i), inputs_[i]));
    return tensors;
  }

 private:
  static Tensor read_input(const std::string& path, const TensorInfo& input) {
    Tensor tensor = read_tensor_proto(path);
    const Shape expected = item_shape(input);
    if (tensor.type != input.type || tensor.shape != expected) {
      throw Error(ErrorKind::input, fmt::format("{} holds {} {}, input '{}' takes {} {}", path, name_of(tensor.type),
                                                shape_text(tensor.shape), input.name, name_of(input.type), shape_text(expected)));
    }
    return tensor;
  }

  std::vector<TensorInfo> inputs_;
  std::vector<std::string> sets_;
};

int64_t set_number(const std::string& path) {
  return parse_int(fs::path(path).filename().string().substr(std::string_view("test_data_set_").size())).value_or(-1);
}

}  // namespace

std::vector<std::string> onnx_test_sets(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder + "/input_0.pb", error)) return {folder};
  std::vector<std::string> sets;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("test_data_set_", 0) == 0 && fs::exists(entry.path() / "input_0.pb", error)) sets.push_back(entry.path().string());
  }
  std::sort(sets.begin(), sets.end(), [](const auto& a, const auto& b) { return set_number(a) < set_number(b); });
  return sets;
}

bool is_onnx_folder(const std::string& folder) { return !onnx_test_sets(folder).empty(); }

std::unique_ptr<TensorsDataset> make_onnx_folder_dataset(const DatasetRequest& request, const std::string& folder) {
  return std::make_unique<OnnxFolderDataset>(request, onnx_test_sets(folder));
}

}  // namespace deepgap
