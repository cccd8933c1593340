#include "engine/gpu/library_products.h"

#include "engine/gpu/kernel_text.h"
#include "engine/gpu/library_call.h"
#include "engine/gpu/library_epilogue.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

constexpr int most_algorithms = 4;
constexpr size_t most_workspace = size_t{32} << 20;  // size that NVIDIA advises on Hopper

bool is_product(const Convolution& p) {
  return p.groups == 1 && p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 && p.stride_w == 1 && !reads_outside(p) &&
         p.out_h == p.in_h && p.out_w == p.in_w && pixels_of(p) > 0 && p.out_channels > 0;
}

int lt_type(Element element) {
  switch (element) {
    case Element::f16:
      return cuda::lt_f16;
    case Element::bf16:
      return cuda::lt_bf16;
    case Element::i8:
      return cuda::lt_i8;
    case Element::e4m3:
      return cuda::lt_e4m3;
    default:
      return cuda::lt_f32;
  }
}

int lt_sums(ComputeType compute) {
  if (compute == ComputeType::i8) return cuda::lt_sums_i32;
  return compute == ComputeType::tf32 ? cuda::lt_sums_tf32 : cuda::lt_sums_f32;
}

class ProductCall final : public LibraryCall {
 public:
  // The library's own workspace is behind the sums.
  ProductCall(std::shared_ptr<const cuda::LtLibrary> library, const cuda::LtProblem& problem, const cuda::LtFound& found,
              const SumsPlace& sums)
      : library_(std::move(library)), problem_(problem), found_(found), sums_(sums) {}

  Run bind(const AddressOf& address) const override {
    cuda::LtProduct::Places places{.source = address(role_source), .weights = address(role_weights), .result = address(sums_.role)};
    if (problem_.has_addend) places.addend = address(role_residual);
    if (found_.workspace_bytes > 0) places.workspace = address(role_workspace) + sums_.bytes;
    const cuda::Address bias = problem_.has_bias ? address(role_scale_bias) : 0;
    const auto product = std::make_shared<const cuda::LtProduct>(library_, problem_, bias);
    return [product, places, found = found_](cuda::StreamHandle stream) { product->run(places, found, stream); };
  }

 private:
  std::shared_ptr<const cuda::LtLibrary> library_;
  cuda::LtProblem problem_;
  cuda::LtFound found_;
  SumsPlace sums_;
};

ConvolutionVariant variant_of(const Convolution& problem, const Chip& chip, const LibraryProduct& product,
                              const std::shared_ptr<const cuda::LtLibrary>& library, const cuda::LtFound& found) {
  auto call = std::make_shared<const ProductCall>(library, product.problem, found, place_of_sums(problem, product.is_whole));
  return variant_of_call(problem, chip, product.is_whole, "cublasLtMatmul", std::move(call), found.workspace_bytes);
}

}  // namespace

std::optional<LibraryProduct> library_product(const Convolution& problem) {
  const bool unsigned_source = problem.compute == ComputeType::i8 && problem.source != Element::i8;
  if (!is_product(problem) || unsigned_source) return std::nullopt;
  LibraryProduct made;
  made.is_whole = is_library_epilogue(problem);
  cuda::LtProblem& product = made.problem;
  product.sums = lt_sums(problem.compute);
  product.operands = lt_type(problem.source);
  product.result = problem.compute == ComputeType::i8 ? cuda::lt_i32 : made.is_whole ? lt_type(problem.epilogue.target) : cuda::lt_f32;
  product.rows = static_cast<uint64_t>(pixels_of(problem));
  product.columns = static_cast<uint64_t>(problem.out_pitch);
  product.depth = static_cast<uint64_t>(problem.in_pitch);
  if (!made.is_whole) return made;
  product.has_bias = true;
  product.has_addend = problem.epilogue.has_residual();
  product.has_relu = ends_in_relu(problem.epilogue);
  return made;
}

std::vector<ConvolutionVariant> cublas_lt_variants(const Convolution& problem, const Chip& chip,
                                                   const std::shared_ptr<const cuda::LtLibrary>& library) {
  const auto product = library_product(problem);
  if (!product || !sums_fit(problem, product->is_whole)) return {};
  std::vector<ConvolutionVariant> variants;
  for (const cuda::LtFound& found : cuda::LtProduct(library, product->problem, 0).algorithms(most_algorithms, most_workspace)) {
    variants.push_back(variant_of(problem, chip, *product, library, found));
    variants.back().name =
        fmt::format("cublaslt {} {}{}", cuda::cublas_lt().version(), variants.size() - 1, product->is_whole ? "" : " ended");
  }
  return variants;
}

}  // namespace deepgap::gpu
