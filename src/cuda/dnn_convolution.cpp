#include "cuda/dnn_convolution.h"

#include <algorithm>
#include <array>

namespace deepgap::cuda {
namespace {

constexpr const char* describing = "a convolution is described";

template <auto Destroy, typename Handle>
Owned<Handle, Destroy> created(DnnResult (*create)(Handle*)) {
  Handle made = nullptr;
  check_dnn(create(&made), describing);
  return Owned<Handle, Destroy>(made);
}

Owned<DnnTensor, destroy_dnn_tensor> tensor(int type, int n, int c, int h, int w) {
  auto made = created<destroy_dnn_tensor>(cudnn().cudnnCreateTensorDescriptor);
  check_dnn(cudnn().cudnnSetTensor4dDescriptor(made.get(), dnn_channels_last, type, n, c, h, w), describing);
  return made;
}

int math_of(const DnnProblem& problem) {
  if (problem.operands != dnn_f32) return dnn_tensor_cores;
  return problem.true_f32 ? dnn_true_f32 : dnn_default_math;
}

Owned<DnnWindow, destroy_dnn_window> window(const DnnProblem& p) {
  auto made = created<destroy_dnn_window>(cudnn().cudnnCreateConvolutionDescriptor);
  check_dnn(cudnn().cudnnSetConvolution2dDescriptor(made.get(), p.pad_h, p.pad_w, p.stride_h, p.stride_w, p.dilation_h, p.dilation_w,
                                                    dnn_cross_correlation, dnn_f32),
            describing);
  check_dnn(cudnn().cudnnSetConvolutionGroupCount(made.get(), p.groups), describing);
  check_dnn(cudnn().cudnnSetConvolutionMathType(made.get(), math_of(p)), describing);
  return made;
}

void* at(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

DnnLibrary::DnnLibrary() {
  DnnHandle made = nullptr;
  check_dnn(cudnn().cudnnCreate(&made), "it starts");
  handle_ = Owned<DnnHandle, destroy_dnn_handle>(made);
}

DnnConvolution::DnnConvolution(std::shared_ptr<const DnnLibrary> library, const DnnProblem& problem)
    : library_(std::move(library)),
      problem_(problem),
      source_(tensor(problem.operands, problem.batch, problem.channels, problem.in_h, problem.in_w)),
      result_(tensor(problem.result, problem.batch, problem.columns, problem.out_h, problem.out_w)),
      bias_(tensor(problem.result, 1, problem.columns, 1, 1)),
      weights_(created<destroy_dnn_filter>(cudnn().cudnnCreateFilterDescriptor)),
      window_(window(problem)),
      activation_(created<destroy_dnn_activation>(cudnn().cudnnCreateActivationDescriptor)) {
  check_dnn(cudnn().cudnnSetFilter4dDescriptor(weights_.get(), problem.operands, dnn_channels_last, problem.columns,
                                               problem.channels / problem.groups, problem.kernel_h, problem.kernel_w),
            describing);
  check_dnn(cudnn().cudnnSetActivationDescriptor(activation_.get(), problem.has_relu ? dnn_relu : dnn_identity, dnn_keep_nan, 0),
            describing);
}

bool DnnConvolution::makes_the_size() const {
  std::array<int, 4> size{};
  const DnnResult known =
      cudnn().cudnnGetConvolution2dForwardOutputDim(window_.get(), source_.get(), weights_.get(), &size[0], &size[1], &size[2], &size[3]);
  return known == 0 && size == std::array<int, 4>{problem_.batch, problem_.columns, problem_.out_h, problem_.out_w};
}

std::vector<DnnConvolution::Algorithm> DnnConvolution::algorithms(size_t most_workspace) const {
  if (!makes_the_size()) return {};
  std::array<DnnFound, dnn_algorithms> found{};
  int count = 0;
  const DnnResult result = cudnn().cudnnGetConvolutionForwardAlgorithm_v7(library_->get(), source_.get(), weights_.get(), window_.get(),
                                                                          result_.get(), dnn_algorithms, &count, found.data());
  std::vector<Algorithm> usable;  // the library lists one for each kind of math
  for (int i = 0; result == 0 && i < count; ++i) {
    const DnnFound& one = found[static_cast<size_t>(i)];
    if (one.state != 0 || one.determinism != dnn_deterministic || one.algorithm > dnn_direct) continue;
    if (std::any_of(usable.begin(), usable.end(), [&](const Algorithm& other) { return other.number == one.algorithm; })) continue;
    // Without an activation the library ends sums of this algorithm alone.
    if (problem_.is_whole && !problem_.has_relu && one.algorithm != dnn_implicit_precomp_gemm) continue;
    Algorithm algorithm{.number = one.algorithm};
    if (cudnn().cudnnGetConvolutionForwardWorkspaceSize(library_->get(), source_.get(), weights_.get(), window_.get(), result_.get(),
                                                        one.algorithm, &algorithm.workspace_bytes) == 0 &&
        algorithm.workspace_bytes <= most_workspace)
      usable.push_back(algorithm);
  }
  return usable;
}

void DnnConvolution::run(const Places& places, const Algorithm& algorithm, StreamHandle stream) const {
  const float one = 1, none = 0;
  const std::lock_guard lock(library_->stream_of_calls());
  check_dnn(cudnn().cudnnSetStream(library_->get(), stream), "its stream is set");
  if (!problem_.is_whole)
    return check_dnn(cudnn().cudnnConvolutionForward(library_->get(), &one, source_.get(), at(places.source), weights_.get(),
                                                     at(places.weights), window_.get(), algorithm.number, at(places.workspace),
                                                     algorithm.workspace_bytes, &none, result_.get(), at(places.result)),
                     "a convolution is launched");
  const Address addend = problem_.has_addend ? places.addend : places.result;
  check_dnn(cudnn().cudnnConvolutionBiasActivationForward(
                library_->get(), &one, source_.get(), at(places.source), weights_.get(), at(places.weights), window_.get(),
                algorithm.number, at(places.workspace), algorithm.workspace_bytes, problem_.has_addend ? &one : &none, result_.get(),
                at(addend), bias_.get(), at(places.bias), activation_.get(), result_.get(), at(places.result)),
            "a convolution is launched");
}

const char* dnn_algorithm_name(int number) {
  constexpr std::array names{"implicit_gemm", "implicit_precomp_gemm", "gemm", "direct"};
  return names.at(static_cast<size_t>(number));
}

}  // namespace deepgap::cuda
