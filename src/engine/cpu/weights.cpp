#include "engine/cpu/weights.h"

#include <cstdint>
#include <cstring>

namespace deepgap {

using dnnl::memory;

std::shared_ptr<const std::byte> WeightStore::get(const Tensor& tensor, const memory::desc& given, const memory::desc& wanted) {
  const bool aligned = reinterpret_cast<uintptr_t>(tensor.data.get()) % alignof(float) == 0;
  if (given == wanted && aligned) return tensor.data;
  for (const auto& entry : entries_)
    if (entry.source == tensor.data.get() && entry.given == given && entry.wanted == wanted) return entry.data;

  Tensor source = make_tensor(DataType::u8, {static_cast<int64_t>(given.get_size())});
  std::memcpy(writable<std::byte>(source).data(), tensor.data.get(), std::min(given.get_size(), tensor.bytes()));
  Tensor result = source;
  if (given != wanted) {
    result = make_tensor(DataType::u8, {static_cast<int64_t>(wanted.get_size())});
    memory from(given, engine_, writable<std::byte>(source).data()), to(wanted, engine_, writable<std::byte>(result).data());
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
  }
  entries_.push_back({tensor.data.get(), given, wanted, result.data});
  return result.data;
}

Tensor WeightStore::derived(const Tensor& tensor, const Tensor& settings, const std::function<Tensor()>& make) {
  Tensor& result = derived_[{tensor.data.get(), settings.data.get()}];
  if (!result.data) result = make();
  return result;
}

Tensor WeightStore::packed(const Tensor& tensor, const std::string& layout, const std::function<Tensor()>& make) {
  Tensor& result = packed_[{tensor.data.get(), layout}];
  if (!result.data) result = make();
  return result;
}

}  // namespace deepgap
