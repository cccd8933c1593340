// A convolution as cuDNN computes it (cudnn.h): channels last, weights [columns][kernel_h][kernel_w][channels / groups], then an addend, a
// bias for each column and a ReLU, as far as they are asked for.
//
// Threads: DnnConvolution::run from any, the context current; made and asked by one.
#pragma once

#include "cuda/cudnn.h"
#include "cuda/objects.h"

#include <memory>
#include <mutex>
#include <vector>

namespace deepgap::cuda {

inline DnnResult destroy_dnn_handle(DnnHandle handle) { return cudnn().cudnnDestroy(handle); }
inline DnnResult destroy_dnn_tensor(DnnTensor tensor) { return cudnn().cudnnDestroyTensorDescriptor(tensor); }
inline DnnResult destroy_dnn_filter(DnnFilter filter) { return cudnn().cudnnDestroyFilterDescriptor(filter); }
inline DnnResult destroy_dnn_window(DnnWindow window) { return cudnn().cudnnDestroyConvolutionDescriptor(window); }
inline DnnResult destroy_dnn_activation(DnnActivation activation) { return cudnn().cudnnDestroyActivationDescriptor(activation); }

// The library on the current context's device, as long as this lives; the context outlives it.
class DnnLibrary {
 public:
  // Throws Error{refused} where there is none, and check_dnn's errors where it does not start on this device.
  DnnLibrary();
  DnnHandle get() const { return handle_.get(); }
  // To hold from setting a stream until what goes there is queued: a handle has one.
  std::mutex& stream_of_calls() const { return mutex_; }

 private:
  Owned<DnnHandle, destroy_dnn_handle> handle_;
  mutable std::mutex mutex_;
};

struct DnnProblem {
  int operands = dnn_f16, result = dnn_f16;  // operands: source and weights; result: result, addend and bias
  bool true_f32 = false;                     // products of float32 are not rounded to TF32
  int batch = 1, in_h = 1, in_w = 1, channels = 1;
  int out_h = 1, out_w = 1, columns = 1;
  int kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dilation_h = 1, dilation_w = 1, groups = 1;
  bool is_whole = false;  // with a bias; else the sums alone
  bool has_addend = false, has_relu = false;
};

class DnnConvolution {
 public:
  DnnConvolution(std::shared_ptr<const DnnLibrary> library, const DnnProblem& problem);

  const DnnProblem& problem() const { return problem_; }
  // Returns whether the library's rule comes to the size that the problem says: it pads both sides alike.
  bool makes_the_size() const;

  struct Algorithm {
    int number = 0;
    size_t workspace_bytes = 0;
  };
  // Returns algorithms that add up products as they are written, in the same way in each run; fastest first by the library's guess. Returns
  // none if the library does not do the problem.
  std::vector<Algorithm> algorithms(size_t most_workspace) const;

  struct Places {
    Address source = 0, weights = 0, bias = 0, addend = 0, result = 0, workspace = 0;
  };
  // Queues it. Throws check_dnn's errors.
  void run(const Places& places, const Algorithm& algorithm, StreamHandle stream) const;

 private:
  std::shared_ptr<const DnnLibrary> library_;
  DnnProblem problem_;
  Owned<DnnTensor, destroy_dnn_tensor> source_, result_, bias_;
  Owned<DnnFilter, destroy_dnn_filter> weights_;
  Owned<DnnWindow, destroy_dnn_window> window_;
  Owned<DnnActivation, destroy_dnn_activation> activation_;
};

// "implicit_precomp_gemm"; of those that algorithms() names.
const char* dnn_algorithm_name(int number);

}  // namespace deepgap::cuda
