#include "worker/train_samples.h"

#include "worker/classes.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

// Returns the shape of the output for one sample; empty where it does not follow from the batch.
Shape output_shape(const std::vector<TensorInfo>& outputs) {
  Shape shape;
  if (outputs.empty() || !outputs.front().dims) return shape;
  for (const Dim& dim : *outputs.front().dims) shape.push_back(dim.size);  // the batch is 1
  return shape;
}

class TrainSamples final : public Dataset {
 public:
  TrainSamples(Dataset& dataset, const std::vector<TensorInfo>& outputs, const TrainSettings& settings)
      : dataset_(dataset), classes_(class_count(outputs).value_or(0)), output_(output_shape(outputs)), settings_(settings) {}

  std::string describe() const override {
    const bool has_labels = dataset_.size() > 0 && dataset_.label(0).has_value();
    return dataset_.describe() + (has_labels ? "" : ", targets from the seed");
  }
  size_t size() const override { return dataset_.size(); }
  void load(std::span<const uint32_t> indices) override {
    dataset_.load(indices);
    for (const uint32_t index : indices)
      if (!targets_.contains(index)) targets_.emplace(index, target_of(index));
  }
  void unload(std::span<const uint32_t> indices) override {
    for (const uint32_t index : indices) targets_.erase(index);
    dataset_.unload(indices);
  }
  std::vector<TensorView> sample(uint32_t index) const override {
    std::vector<TensorView> tensors = dataset_.sample(index);
    tensors.push_back(targets_.at(index).view());
    return tensors;
  }
  std::optional<int64_t> label(uint32_t index) const override { return dataset_.label(index); }
  std::string sample_name(uint32_t index) const override { return dataset_.sample_name(index); }

 private:
  std::mt19937_64 random_of(uint32_t index) const {
    std::seed_seq seed{settings_.seed, uint64_t{index}};
    return std::mt19937_64(seed);
  }

  int64_t class_of(uint32_t index) const {
    if (const auto label = dataset_.label(index)) return *label;
    return classes_ > 0 ? static_cast<int64_t>(random_of(index)() % static_cast<uint64_t>(classes_)) : 0;
  }

  Tensor target_of(uint32_t index) const {
    if (settings_.loss == Loss::cross_entropy) {
      Tensor target = make_tensor(DataType::i64, {1});
      writable<int64_t>(target)[0] = class_of(index);
      return target;
    }
    Tensor target = make_tensor(DataType::f32, output_);
    const std::span<float> values = writable<float>(target);
    if (classes_ > 0) {
      std::fill(values.begin(), values.end(), 0.0F);
      values[static_cast<size_t>(class_of(index))] = 1;
      return target;
    }
    std::mt19937_64 random = random_of(index);
    for (float& value : values) value = static_cast<float>(random() >> 40) / static_cast<float>(1 << 24);  // [0, 1)
    return target;
  }

  Dataset& dataset_;
  int64_t classes_;  // 0: not known
  Shape output_;
  TrainSettings settings_;
  std::map<uint32_t, Tensor> targets_;  // targets of loaded samples
};

}  // namespace

std::unique_ptr<Dataset> make_train_samples(Dataset& dataset, const std::vector<TensorInfo>& outputs, const TrainSettings& settings) {
  return std::make_unique<TrainSamples>(dataset, outputs, settings);
}

}  // namespace deepgap
