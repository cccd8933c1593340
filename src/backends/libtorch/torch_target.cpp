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

TorchForm torch_input_form(at::ScalarType type, size_t dimensions, const TorchTarget& target) {
  return {type == at::kFloat ? target.floats : type, target.channels_last && dimensions == 4 && at::isFloatingType(type)};
}

at::Tensor torch_input(const at::Tensor& given, const TorchTarget& target) {
  const TorchForm form = torch_input_form(given.scalar_type(), static_cast<size_t>(given.dim()), target);
  const at::Tensor input = given.to(form.type);
  return form.channels_last ? input.contiguous(at::MemoryFormat::ChannelsLast) : input;
}

}  // namespace deepgap
