// Inputs made from a seed: smooth waves for picture-shaped inputs (the kind of batch that seeded weights were balanced with), normal
// noise for other floats, small numbers for integers.
#include "model/weights/seeded.h"
#include "dataset/kinds.h"
#include "dataset/tensors_dataset.h"
#include "model/eval/element_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): enough for integer inputs, where only the range matters.
uint64_t split_mix(uint64_t state) {
  state += 0x9e3779b97f4a7c15;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

template <typename T>
void fill_integers(Tensor& tensor, uint64_t stream, IntegerRange range) {
  uint64_t counter = 0;
  for (T& value : writable<T>(tensor)) value = static_cast<T>(range.number(split_mix(stream + counter++)));
}

class SeededDataset : public TensorsDataset {
 public:
  explicit SeededDataset(const DatasetRequest& request)
      : inputs_(request.inputs), integer_values_(request.integer_values), seed_(request.seed), size_(request.size) {
    shapes_ = sample_shapes(inputs_);
  }
  std::string describe() const override { return fmt::format("seeded, seed {}, {} samples", seed_, size_); }
  size_t size() const override { return size_; }

 protected:
  std::vector<Tensor> make(uint32_t index) override {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < inputs_.size(); ++i) tensors.push_back(make_input(i, index));
    return tensors;
  }

 private:
  Tensor make_input(size_t which, uint32_t index) const {
    const TensorInfo& input = inputs_[which];
    const Shape& shape = shapes_[which];
    Tensor tensor = make_tensor(input.type, shape);
    const uint64_t stream = split_mix(seed_ * 1000003 + which) + (uint64_t{index} << 40);
    switch (input.type) {
      case DataType::f32:
        fill_floats(writable<float>(tensor), input, shape, index, stream);
        break;
      case DataType::f64:
      case DataType::f16:
      case DataType::bf16:
        tensor = make_tensor(DataType::f32, shape);
        fill_floats(writable<float>(tensor), input, shape, index, stream);
        return converted(tensor, input.type);
      case DataType::i64:
        fill_integers<int64_t>(tensor, stream, values_of(input));
        break;
      case DataType::i32:
        fill_integers<int32_t>(tensor, stream, values_of(input));
        break;
      case DataType::i16:
        fill_integers<int16_t>(tensor, stream, values_of(input));
        break;
      case DataType::u16:
        fill_integers<uint16_t>(tensor, stream, values_of(input));
        break;
      case DataType::u32:
        fill_integers<uint32_t>(tensor, stream, values_of(input));
        break;
      case DataType::u64:
        fill_integers<uint64_t>(tensor, stream, values_of(input));
        break;
      case DataType::u8:
      case DataType::i8:  // where nothing limits them every bit pattern, either way
        fill_integers<uint8_t>(tensor, stream, integer_values_.contains(input.name) ? values_of(input) : IntegerRange{0, 256});
        break;
      case DataType::boolean:
        fill_integers<uint8_t>(tensor, stream, {0, std::min<int64_t>(values_of(input).count, 2)});
        break;
    }
    return tensor;
  }

  // Inputs that are cast to indices get whole numbers.
  void fill_floats(std::span<float> values, const TensorInfo& input, const Shape& shape, uint32_t index, uint64_t stream) const {
    if (values.empty()) return;
    if (integer_values_.contains(input.name)) {
      for (float& value : values) value = static_cast<float>(values_of(input).number(split_mix(stream++)));
    } else if (shape.size() == 4) {
      fill_pictures(values, shape, index);
    } else {
      fill_normal(values, seed_, fmt::format("sample {} of {}", index, input.name));
    }
  }

  // A sample has several images where the inputs of the network share no batch; each gets other numbers.
  void fill_pictures(std::span<float> values, const Shape& shape, uint32_t index) const {
    const auto count = static_cast<uint64_t>(shape[0]);
    const size_t each = values.size() / count;
    for (uint64_t n = 0; n < count; ++n)
      fill_smooth(values.subspan(n * each, each), shape[1], shape[2], shape[3], seed_, index * count + n);
  }

  IntegerRange values_of(const TensorInfo& input) const {
    constexpr IntegerRange usual{0, 100};  // valid token ids and indices in most networks
    const auto found = integer_values_.find(input.name);
    return found == integer_values_.end() ? usual : found->second;
  }

  std::vector<TensorInfo> inputs_;
  std::map<std::string, IntegerRange> integer_values_;
  std::vector<Shape> shapes_;
  uint64_t seed_;
  size_t size_;
};

class ZerosDataset : public TensorsDataset {
 public:
  explicit ZerosDataset(const DatasetRequest& request) : size_(request.size) {
    const std::vector<Shape> shapes = sample_shapes(request.inputs);
    for (size_t i = 0; i < shapes.size(); ++i) blank_.push_back(zeros(request.inputs[i].type, shapes[i]));
  }
  std::string describe() const override { return "zeros"; }
  size_t size() const override { return size_; }

 protected:
  std::vector<Tensor> make(uint32_t /*index*/) override { return blank_; }

 private:
  static Tensor zeros(DataType type, const Shape& shape) {
    Tensor tensor = make_tensor(type, shape);
    const std::span<std::byte> bytes{writable<std::byte>(tensor).data(), tensor.bytes()};
    std::memset(bytes.data(), 0, bytes.size());
    return tensor;
  }

  std::vector<Tensor> blank_;
  size_t size_;
};

}  // namespace

std::unique_ptr<TensorsDataset> make_seeded_dataset(const DatasetRequest& request) { return std::make_unique<SeededDataset>(request); }
std::unique_ptr<TensorsDataset> make_zeros_dataset(const DatasetRequest& request) { return std::make_unique<ZerosDataset>(request); }

}  // namespace deepgap
