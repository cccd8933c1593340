#include "backends/libtorch/cpu/gathered_inputs.h"

#include "backends/libtorch/torch_types.h"

namespace deepgap {

std::vector<at::Tensor> gathered(const Staging& staged, const std::vector<Port>& inputs, std::span<const uint32_t> samples,
                                 std::vector<SlotBuffer>& room) {
  const auto batch = static_cast<int64_t>(samples.size());
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape shape = *inputs[i].shape(batch);
    staged.gather(i, samples, batch, room[i].data(), bytes_of(inputs[i].type, shape));
    tensors.push_back(torch_view(inputs[i].type, shape, room[i].data()));
  }
  return tensors;
}

}  // namespace deepgap
