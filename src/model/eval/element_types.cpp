#include "model/eval/element_types.h"

namespace deepgap {

Tensor converted(const Tensor& x, DataType type) {
  if (type == x.type) return x;
  Tensor y = make_tensor(type, x.shape);
  with_type(x.type, [&]<typename From>(From) {
    with_type(type, [&]<typename To>(To) {
      const auto from = x.as<From>();
      const auto to = writable<To>(y);
      for (size_t i = 0; i < from.size(); ++i) to[i] = convert<To>(from[i]);
    });
  });
  return y;
}

}  // namespace deepgap
