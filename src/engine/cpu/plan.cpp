#include "engine/cpu/plan.h"

namespace deepgap {

using dnnl::memory;

memory::desc plain_desc(DataType type, std::span<const int64_t> shape) {
  if (type != DataType::f32)
    return {{element_count(shape) * static_cast<int64_t>(byte_size(type))}, memory::data_type::u8, memory::dims{1}};
  memory::dims dims(shape.begin(), shape.end());
  if (dims.empty()) dims = {1};
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  return {dims, memory::data_type::f32, strides};
}

bool is_plain(const memory::desc& desc) {
  if (desc.get_format_kind() != memory::format_kind::blocked || desc.get_submemory_offset() != 0) return false;
  const auto dims = desc.get_dims(), padded = desc.get_padded_dims(), strides = desc.get_strides();
  if (dims != padded) return false;
  int64_t block = 1;
  size_t blocked = dims.size();  // the one blocked dimension, if any
  for (int i = 0; i < desc.get_inner_nblks(); ++i) {
    const auto dim = static_cast<size_t>(desc.get_inner_idxs()[static_cast<size_t>(i)]);
    if (blocked != dims.size() && blocked != dim) return false;
    blocked = dim;
    block *= desc.get_inner_blks()[static_cast<size_t>(i)];
  }
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (i == blocked) {
      // Blocks are innermost, so nothing may lie inside this dimension, and its outer part must follow its block.
      if (expected != 1 || (dims[i] != block && strides[i] != block)) return false;
    } else if (dims[i] != 1 && strides[i] != expected) {
      return false;
    }
    expected *= dims[i];
  }
  return true;
}

}  // namespace deepgap
