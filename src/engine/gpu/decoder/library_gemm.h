// Products of many tokens by cuBLASLt. A product is described once for each size, its rows rounded up.
//
// Threads: one at a time, the context current.
#pragma once

#include "cuda/lt_product.h"
#include "engine/gpu/launch.h"

#include <cstdint>
#include <map>
#include <memory>

namespace deepgap::gpu {

class LibraryGemm {
 public:
  static constexpr int64_t row_unit = 64, small_row_unit = 16;  // the latter for fewer tokens than the former
  static constexpr size_t workspace_bytes = size_t{32} << 20;

  // nullptr: the library is not there.
  static std::unique_ptr<LibraryGemm> find(Element halves);
  LibraryGemm(std::shared_ptr<const cuda::LtLibrary> library, Element halves);

  struct Sizes {
    int64_t tokens = 0, rows = 0, depth = 0;  // rows: of the weights
    bool halves = false;                      // the result's type; else floats
    bool adds = false;                        // to what the result has
    auto operator<=>(const Sizes&) const = default;
  };
  // False: the library does not do it. All buffers have room for a multiple of row_unit tokens.
  bool run(Sizes sizes, cuda::Address source, cuda::Address weights, cuda::Address result, cuda::StreamHandle stream);

 private:
  struct Described {
    std::unique_ptr<cuda::LtProduct> product;
    cuda::LtFound algorithm{};
  };
  const Described& described(const Sizes& sizes);

  std::shared_ptr<const cuda::LtLibrary> library_;
  Element halves_;
  cuda::DeviceMemory workspace_;
  std::map<Sizes, Described> described_;
};

}  // namespace deepgap::gpu
