// For tests: a cuDNN that computes on the host what it is described, where FakeDriver's device memory lies, and launches a kernel "cudnn"
// for it. It refuses what the library would: descriptions that do not fit, too little workspace, an activation that its algorithm has not.
//
//     FakeCudnn fake;
//     const CudnnStandIn library(fake.table());
//
// One at a time; what a test sets, it sets before the code under test runs.
#pragma once

#include "cuda/cudnn.h"
#include "cuda/fake_numbers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

namespace deepgap::cuda {

class FakeCudnn {
 public:
  size_t version_number = 91900;               // its version
  size_t workspace_each = 512;                 // algorithm i wants i times that
  bool computes = true;                        // else results stay as they are
  DnnResult starts = 0, offers = 0, runs = 0;  // results that the functions return
  std::atomic<int> convolutions{0}, asked{0}, opened{0}, closed{0}, described{0};

  FakeCudnn() { current() = this; }
  ~FakeCudnn() { current() = nullptr; }
  FakeCudnn(const FakeCudnn&) = delete;
  FakeCudnn& operator=(const FakeCudnn&) = delete;

  const Cudnn& table() {
    table_.path = "/played/libcudnn.so.9";
    table_.cudnnGetVersion = [] { return current()->version_number; };
    table_.cudnnGetErrorString = [](DnnResult result) {
      return result == dnn_out_of_memory ? "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED" : "CUDNN_STATUS_SCRIPTED";
    };
    table_.cudnnCreate = [](DnnHandle* handle) {
      if (current()->starts != 0) return current()->starts;
      return ++current()->opened, give(handle, new Library{});
    };
    table_.cudnnDestroy = [](DnnHandle handle) { return ++current()->closed, delete of(handle), 0; };
    table_.cudnnSetStream = [](DnnHandle handle, StreamHandle stream) { return of(handle)->stream = stream, 0; };
    describe_tensors();
    describe_windows();
    compute_with();
    return table_;
  }

 private:
  struct Library {
    StreamHandle stream = nullptr;
  };
  struct Tensor {
    int format = 0, type = 0, n = 0, c = 0, h = 0, w = 0;
    size_t at(int image, int y, int x, int channel) const {
      return ((static_cast<size_t>(image) * static_cast<size_t>(h) + static_cast<size_t>(y)) * static_cast<size_t>(w) +
              static_cast<size_t>(x)) *
                 static_cast<size_t>(c) +
             static_cast<size_t>(channel);
    }
    bool operator==(const Tensor&) const = default;
  };
  struct Window {
    int pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, mode = 0, sums = 0, groups = 1, math = 0;
  };
  struct Activation {
    int mode = 0, nan = 0;
  };
  struct Described {
    const Tensor &source, &weights;
    const Window& window;
    const Tensor& result;
  };
  struct Ending {
    double addend_factor = 0;
    const void *addend = nullptr, *bias = nullptr;
    int activation = dnn_identity;
  };

  static FakeCudnn*& current() {
    static FakeCudnn* instance = nullptr;
    return instance;
  }
  template <typename Handle>
  static DnnResult give(Handle* handle, void* object) {
    *handle = reinterpret_cast<Handle>(object);
    return 0;
  }
  static Library* of(DnnHandle handle) { return reinterpret_cast<Library*>(handle); }
  static Tensor* of(DnnTensor tensor) { return reinterpret_cast<Tensor*>(tensor); }
  static Tensor* of(DnnFilter filter) { return reinterpret_cast<Tensor*>(filter); }
  static Window* of(DnnWindow window) { return reinterpret_cast<Window*>(window); }
  static Activation* of(DnnActivation activation) { return reinterpret_cast<Activation*>(activation); }
  template <typename Object, typename Handle>
  static DnnResult made(Handle* handle) {
    return ++current()->described, give(handle, new Object);
  }
  template <typename Handle>
  static DnnResult dropped(Handle handle) {
    return --current()->described, delete of(handle), 0;
  }

  void describe_tensors() {
    table_.cudnnCreateTensorDescriptor = [](DnnTensor* tensor) { return made<Tensor>(tensor); };
    table_.cudnnDestroyTensorDescriptor = [](DnnTensor tensor) { return dropped(tensor); };
    table_.cudnnSetTensor4dDescriptor = [](DnnTensor tensor, int format, int type, int n, int c, int h, int w) {
      return *of(tensor) = {format, type, n, c, h, w}, 0;
    };
    table_.cudnnCreateFilterDescriptor = [](DnnFilter* filter) { return made<Tensor>(filter); };
    table_.cudnnDestroyFilterDescriptor = [](DnnFilter filter) { return dropped(filter); };
    table_.cudnnSetFilter4dDescriptor = [](DnnFilter filter, int type, int format, int k, int c, int h, int w) {
      return *of(filter) = {format, type, k, c, h, w}, 0;
    };
    table_.cudnnCreateActivationDescriptor = [](DnnActivation* activation) { return made<Activation>(activation); };
    table_.cudnnDestroyActivationDescriptor = [](DnnActivation activation) { return dropped(activation); };
    table_.cudnnSetActivationDescriptor = [](DnnActivation activation, int mode, int nan, double) {
      return *of(activation) = {mode, nan}, 0;
    };
  }
  void describe_windows() {
    table_.cudnnCreateConvolutionDescriptor = [](DnnWindow* window) { return made<Window>(window); };
    table_.cudnnDestroyConvolutionDescriptor = [](DnnWindow window) { return dropped(window); };
    table_.cudnnSetConvolution2dDescriptor = [](DnnWindow window, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                                                int dilation_w, int mode, int sums) {
      return *of(window) = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, mode, sums}, 0;
    };
    table_.cudnnSetConvolutionGroupCount = [](DnnWindow window, int groups) { return of(window)->groups = groups, 0; };
    table_.cudnnSetConvolutionMathType = [](DnnWindow window, int math) { return of(window)->math = math, 0; };
    table_.cudnnGetConvolution2dForwardOutputDim = [](DnnWindow window, DnnTensor source, DnnFilter weights, int* n, int* c, int* h,
                                                      int* w) {
      const auto size = result_size(*of(source), *of(weights), *of(window));
      return *n = size[0], *c = size[1], *h = size[2], *w = size[3], 0;
    };
  }
  void compute_with() {
    table_.cudnnGetConvolutionForwardAlgorithm_v7 = [](DnnHandle, DnnTensor source, DnnFilter weights, DnnWindow window, DnnTensor result,
                                                       int most, int* count, DnnFound* found) {
      return current()->offer({*of(source), *of(weights), *of(window), *of(result)}, most, count, found);
    };
    table_.cudnnGetConvolutionForwardWorkspaceSize = [](DnnHandle, DnnTensor, DnnFilter, DnnWindow, DnnTensor, int algorithm,
                                                        size_t* bytes) { return *bytes = current()->workspace_of(algorithm), 0; };
    table_.cudnnConvolutionForward = [](DnnHandle handle, const void* alpha, DnnTensor source_layout, const void* source, DnnFilter filter,
                                        const void* weights, DnnWindow window, int algorithm, void* workspace, size_t workspace_bytes,
                                        const void* beta, DnnTensor result_layout, void* result) {
      const bool plain = number_of(lt_f32, alpha, 0) == 1 && number_of(lt_f32, beta, 0) == 0;
      if (!plain || !current()->has_workspace(algorithm, workspace, workspace_bytes)) return dnn_bad_parameter;
      return current()->convolve({*of(source_layout), *of(filter), *of(window), *of(result_layout)}, source, weights, result, {},
                                 of(handle)->stream);
    };
    table_.cudnnConvolutionBiasActivationForward =
        [](DnnHandle handle, const void* alpha, DnnTensor source_layout, const void* source, DnnFilter filter, const void* weights,
           DnnWindow window, int algorithm, void* workspace, size_t workspace_bytes, const void* beta, DnnTensor addend_layout,
           const void* addend, DnnTensor bias_layout, const void* bias, DnnActivation activation, DnnTensor result_layout, void* result) {
          const Tensor& to = *of(result_layout);
          const int mode = of(activation)->mode;
          const bool has_activation = mode == dnn_relu || (mode == dnn_identity && algorithm == dnn_implicit_precomp_gemm);
          const bool fits = number_of(lt_f32, alpha, 0) == 1 && *of(addend_layout) == to && of(bias_layout)->c == to.c &&
                            of(bias_layout)->type == to.type && addend != nullptr && has_activation;
          if (!fits || !current()->has_workspace(algorithm, workspace, workspace_bytes)) return dnn_bad_parameter;
          return current()->convolve({*of(source_layout), *of(filter), *of(window), to}, source, weights, result,
                                     {number_of(lt_f32, beta, 0), addend, bias, mode}, of(handle)->stream);
        };
  }

  static std::array<int, 4> result_size(const Tensor& source, const Tensor& weights, const Window& window) {
    const auto size = [](int in, int pad, int kernel, int stride, int dilation) {
      return (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
    };
    return {source.n, weights.n, size(source.h, window.pad_h, weights.h, window.stride_h, window.dilation_h),
            size(source.w, window.pad_w, weights.w, window.stride_w, window.dilation_w)};
  }
  // Numbers that the library has together, all channels last, in groups that come out.
  static bool fits(const Described& d) {
    const bool floats = d.source.type == dnn_f32 && d.result.type == dnn_f32;
    const bool halves = (d.source.type == dnn_f16 || d.source.type == dnn_bf16) && d.result.type == d.source.type;
    const bool last = d.source.format == dnn_channels_last && d.weights.format == dnn_channels_last && d.result.format == dnn_channels_last;
    const bool math = floats ? d.window.math != dnn_tensor_cores : d.window.math == dnn_tensor_cores;
    return (floats || halves) && last && math && d.weights.type == d.source.type && d.window.sums == dnn_f32 &&
           d.window.mode == dnn_cross_correlation && d.weights.c * d.window.groups == d.source.c && d.weights.n % d.window.groups == 0 &&
           result_size(d.source, d.weights, d.window) == std::array<int, 4>{d.result.n, d.result.c, d.result.h, d.result.w};
  }
  size_t workspace_of(int algorithm) const { return static_cast<size_t>(algorithm) * workspace_each; }
  bool has_workspace(int algorithm, const void* workspace, size_t bytes) const {
    return bytes >= workspace_of(algorithm) && (workspace_of(algorithm) == 0 || workspace != nullptr);
  }

  // Those that transform come first, one comes for two kinds of math, `direct` is not there for the problem, and `gemm` differs from run to
  // run.
  DnnResult offer(const Described& d, int most, int* count, DnnFound* found) {
    ++asked;
    *count = 0;
    if (offers != 0) return offers;
    if (!fits(d)) return dnn_not_supported;
    for (const int algorithm : {6, 5, 4, dnn_direct, dnn_gemm, dnn_implicit_precomp_gemm, dnn_implicit_precomp_gemm, dnn_implicit_gemm})
      if (*count < most)
        found[(*count)++] = {algorithm,
                             algorithm == dnn_direct ? dnn_not_supported : 0,
                             1.0F,
                             workspace_of(algorithm),
                             algorithm == dnn_gemm ? 0 : dnn_deterministic,
                             d.window.math,
                             {}};
    return 0;
  }

  DnnResult convolve(const Described& d, const void* source, const void* weights, void* result, const Ending& ending, StreamHandle stream) {
    ++convolutions;
    if (runs != 0) return runs;
    if (!fits(d)) return dnn_bad_parameter;
    LaunchConfig config{};
    config.stream = stream;
    if (driver().cuLaunchKernelEx(&config, reinterpret_cast<Function>(&kernel_), nullptr, nullptr) != 0) return dnn_execution_failed;
    if (!computes) return 0;
    for (int image = 0; image < d.result.n; ++image)
      for (int y = 0; y < d.result.h; ++y)
        for (int x = 0; x < d.result.w; ++x)
          for (int column = 0; column < d.result.c; ++column) {
            const size_t at = d.result.at(image, y, x, column);
            put_number(lt_type(d.result.type), result, at, ended(d, sum(d, source, weights, image, y, x, column), at, column, ending));
          }
    return 0;
  }

  static double ended(const Described& d, double sum, size_t at, int column, const Ending& ending) {
    const int type = lt_type(d.result.type);
    if (ending.addend_factor != 0) sum += ending.addend_factor * number_of(type, ending.addend, at);
    if (ending.bias != nullptr) sum += number_of(type, ending.bias, static_cast<uint64_t>(column));
    return ending.activation == dnn_relu ? std::max(sum, 0.0) : sum;
  }
  static double sum(const Described& d, const void* source, const void* weights, int image, int y, int x, int column) {
    const int type = lt_type(d.source.type), first = column / (d.weights.n / d.window.groups) * d.weights.c;
    double sum = 0;
    for (int ky = 0; ky < d.weights.h; ++ky)
      for (int kx = 0; kx < d.weights.w; ++kx) {
        const int from_y = y * d.window.stride_h - d.window.pad_h + ky * d.window.dilation_h;
        const int from_x = x * d.window.stride_w - d.window.pad_w + kx * d.window.dilation_w;
        if (from_y < 0 || from_y >= d.source.h || from_x < 0 || from_x >= d.source.w) continue;
        for (int k = 0; k < d.weights.c; ++k)
          sum += number_of(type, source, d.source.at(image, from_y, from_x, first + k)) *
                 number_of(type, weights, d.weights.at(column, ky, kx, k));
      }
    return sum;
  }
  static int lt_type(int type) { return type == dnn_f16 ? lt_f16 : type == dnn_bf16 ? lt_bf16 : lt_f32; }

  Cudnn table_;
  std::string kernel_ = "cudnn";
};

}  // namespace deepgap::cuda
