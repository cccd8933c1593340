#include "engine/gpu/decoder/library_gemm.h"

#include <deepgap/error.h>

namespace deepgap::gpu {

std::unique_ptr<LibraryGemm> LibraryGemm::find(Element halves) {
  try {
    return std::make_unique<LibraryGemm>(std::make_shared<const cuda::LtLibrary>(), halves);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    return nullptr;
  }
}

LibraryGemm::LibraryGemm(std::shared_ptr<const cuda::LtLibrary> library, Element halves)
    : library_(std::move(library)), halves_(halves), workspace_(workspace_bytes) {}

const LibraryGemm::Described& LibraryGemm::described(const Sizes& sizes) {
  const auto known = described_.find(sizes);
  if (known != described_.end()) return known->second;
  const int type = halves_ == Element::bf16 ? cuda::lt_bf16 : cuda::lt_f16;
  const cuda::LtProblem problem{.operands = type,
                                .result = sizes.halves ? type : cuda::lt_f32,
                                .rows = static_cast<uint64_t>(sizes.tokens),
                                .columns = static_cast<uint64_t>(sizes.rows),
                                .depth = static_cast<uint64_t>(sizes.depth),
                                .has_addend = sizes.adds};
  Described made;
  made.product = std::make_unique<cuda::LtProduct>(library_, problem, 0);
  const auto found = made.product->algorithms(1, workspace_bytes);
  if (found.empty()) made.product.reset();
  if (!found.empty()) made.algorithm = found.front();
  return described_.emplace(sizes, std::move(made)).first->second;
}

bool LibraryGemm::run(Sizes sizes, cuda::Address source, cuda::Address weights, cuda::Address result, cuda::StreamHandle stream) {
  const int64_t unit = sizes.tokens < row_unit ? small_row_unit : row_unit;
  sizes.tokens = (sizes.tokens + unit - 1) / unit * unit;
  const Described& known = described(sizes);
  if (!known.product) return false;
  known.product->run(
      {.source = source, .weights = weights, .addend = sizes.adds ? result : 0, .result = result, .workspace = workspace_.address()},
      known.algorithm, stream);
  return true;
}

}  // namespace deepgap::gpu
