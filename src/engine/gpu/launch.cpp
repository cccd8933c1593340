#include "engine/gpu/launch.h"

#include <fmt/core.h>

namespace deepgap::gpu {

size_t byte_size(Element element) {
  switch (element) {
    case Element::f64:
    case Element::i64:
    case Element::u64:
      return 8;
    case Element::f32:
    case Element::i32:
    case Element::u32:
      return 4;
    case Element::f16:
    case Element::bf16:
    case Element::i16:
    case Element::u16:
      return 2;
    default:
      return 1;
  }
}

std::string Chip::target() const { return fmt::format("sm_{}{}", architecture, architecture >= 90 ? "a" : ""); }

}  // namespace deepgap::gpu
