#include "engine/cpu/plan.h"

namespace deepgap {

using dnnl::memory;

namespace {

std::optional<memory::data_type> element_type(DataType type) {
  switch (type) {
    case DataType::f32:
      return memory::data_type::f32;
    case DataType::bf16:
      return memory::data_type::bf16;
    case DataType::u8:
      return memory::data_type::u8;
    case DataType::i8:
      return memory::data_type::s8;
    default:
      return std::nullopt;
  }
}

}  // namespace

memory::desc plain_desc(DataType type, std::span<const int64_t> shape) {
  const auto element = element_type(type);
  if (!element) return {{element_count(shape) * static_cast<int64_t>(byte_size(type))}, memory::data_type::u8, memory::dims{1}};
  memory::dims dims(shape.begin(), shape.end());
  if (dims.empty()) dims = {1};
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  return {dims, *element, strides};
}

std::optional<memory::desc> retyped(const memory::desc& desc, memory::data_type type) {
  if (desc.get_data_type() == type) return desc;
  const bool strided = desc.get_format_kind() == memory::format_kind::blocked && desc.get_inner_nblks() == 0 &&
                       desc.get_dims() == desc.get_padded_dims() && desc.get_submemory_offset() == 0;
  if (!strided) return std::nullopt;
  return memory::desc(desc.get_dims(), type, desc.get_strides());
}

memory::desc channels_last_desc(memory::data_type type, const memory::dims& dims) {
  memory::dims strides(dims.size());
  int64_t next = dims[1];
  strides[1] = 1;
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = next;
    next *= dims[i];
  }
  strides[0] = next;
  return {dims, type, strides};
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
