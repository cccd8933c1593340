// LaneInputs: the Dataset of a Session that is fed end to end. Its samples are input buffers, `batch` of them for each lane, one behind the
// other: what is written there is what a query computes on. For that a Session must read samples where they are, at each query, as those on
// a CPU do (session.h); one that copied them when they were staged would compute on zeros, which the check of its outputs finds.
#pragma once

#include <deepgap/dataset.h>

#include <cstring>
#include <string>
#include <vector>

namespace deepgap {

class LaneInputs final : public Dataset {
 public:
  // `item`: type and shape of a sample's only input, batch dimension 1.
  LaneInputs(const TensorView& item, int64_t lanes, int64_t batch)
      : type_(item.type), shape_(item.shape.begin(), item.shape.end()), item_bytes_(item.bytes()), batch_(batch) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Tensor& made = lanes_.emplace_back(make_tensor(DataType::u8, {batch, static_cast<int64_t>(item_bytes_)}));
      std::memset(writable<std::byte>(made).data(), 0, made.bytes());  // touched, so that no query pays for page faults
    }
  }
  int64_t lanes() const { return static_cast<int64_t>(lanes_.size()); }
  int64_t batch() const { return batch_; }
  uint32_t index(int64_t lane, int64_t position) const { return static_cast<uint32_t>(lane * batch_ + position); }
  std::span<std::byte> input(uint32_t index) {
    Tensor& lane = lanes_.at(index / static_cast<size_t>(batch_));
    return writable<std::byte>(lane).subspan(index % static_cast<size_t>(batch_) * item_bytes_, item_bytes_);
  }

  std::string describe() const override { return "inputs of queries"; }
  size_t size() const override { return lanes_.size() * static_cast<size_t>(batch_); }
  void load(std::span<const uint32_t> /*indices*/) override {}
  void unload(std::span<const uint32_t> /*indices*/) override {}
  std::vector<TensorView> sample(uint32_t index) const override {
    const auto batch = static_cast<size_t>(batch_);
    return {{type_, shape_, lanes_.at(index / batch).data.get() + index % batch * item_bytes_}};
  }

 private:
  DataType type_;
  Shape shape_;
  size_t item_bytes_;
  int64_t batch_;
  std::vector<Tensor> lanes_;
};

}  // namespace deepgap
