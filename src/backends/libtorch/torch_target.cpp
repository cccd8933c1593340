#include "backends/libtorch/torch_target.h"

#include <c10/macros/Export.h>

// Declared here: the header with them, ATen/autocast_mode.h, includes every operator that ATen has.
namespace at::autocast {
TORCH_API void set_autocast_enabled(at::DeviceType device_type, bool enabled);
TORCH_API void set_autocast_dtype(at::DeviceType device_type, at::ScalarType dtype);
TORCH_API void clear_cache();
TORCH_API int increment_nesting();
TORCH_API int decrement_nesting();
}  // namespace at::autocast

namespace deepgap {

TorchAutocast::TorchAutocast(const TorchTarget& target) : kind_(target.device.type()), on_(target.autocast != at::kFloat) {
  if (!on_) return;
  at::autocast::set_autocast_enabled(kind_, true);
  at::autocast::set_autocast_dtype(kind_, target.autocast);
  at::autocast::increment_nesting();
}

TorchAutocast::~TorchAutocast() {
  if (!on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(kind_, false);
}

at::Tensor torch_input(const at::Tensor& given, const TorchTarget& target) {
  at::Tensor input = given;
  if (input.scalar_type() == at::kFloat) input = input.to(target.floats);
  if (target.channels_last && input.dim() == 4 && input.is_floating_point()) input = input.contiguous(at::MemoryFormat::ChannelsLast);
  return input;
}

}  // namespace deepgap
