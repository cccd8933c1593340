// cuDNN, NVIDIA's library for networks, as functions that are looked up at run time (libcudnn.so.9 or .8): an installed torch brings it,
// and a machine without gets a sentence. Types and numbers are its own; cudnn_test.cpp holds them against its header where there is one.
//
// These are its functions for single convolutions, which it calls deprecated since version 9 and computes by the same kernels as its
// graphs.
#pragma once

#include "cuda/driver.h"
#include "cuda/stand_in.h"

#include <cstddef>
#include <string>

namespace deepgap::cuda {

using DnnResult = int;                           // cudnnStatus_t; 0 is success
using DnnHandle = struct DnnHandleTag*;          // cudnnHandle_t: the library on one device
using DnnTensor = struct DnnTensorTag*;          // cudnnTensorDescriptor_t
using DnnFilter = struct DnnFilterTag*;          // cudnnFilterDescriptor_t
using DnnWindow = struct DnnWindowTag*;          // cudnnConvolutionDescriptor_t
using DnnActivation = struct DnnActivationTag*;  // cudnnActivationDescriptor_t

inline constexpr DnnResult dnn_bad_parameter = 2000, dnn_not_supported = 3000, dnn_out_of_memory = 4004, dnn_execution_failed = 5000;

// cudnnDataType_t
inline constexpr int dnn_f32 = 0, dnn_f16 = 2, dnn_bf16 = 9;
// cudnnTensorFormat_t; cudnnConvolutionMode_t: as networks mean a convolution
inline constexpr int dnn_channels_last = 1, dnn_cross_correlation = 1;
// cudnnMathType_t: float32 as TF32 where tensor cores are faster; 16 bits by tensor cores; float32 as it is.
inline constexpr int dnn_default_math = 0, dnn_tensor_cores = 1, dnn_true_f32 = 3;
// cudnnActivationMode_t, cudnnNanPropagation_t
inline constexpr int dnn_relu = 1, dnn_identity = 5, dnn_keep_nan = 1;
// cudnnConvolutionFwdAlgo_t: sums as they are written; those above transform images first.
inline constexpr int dnn_implicit_gemm = 0, dnn_implicit_precomp_gemm = 1, dnn_gemm = 2, dnn_direct = 3, dnn_algorithms = 8;
// cudnnDeterminism_t
inline constexpr int dnn_deterministic = 1;

// cudnnConvolutionFwdAlgoPerf_t
struct DnnFound {
  int algorithm;
  DnnResult state;
  float milliseconds;
  size_t workspace_bytes;
  int determinism, math;
  int reserved[3];
};

// result, name, parameters. Factors are float32 on the host.
#define DEEPGAP_CUDNN_FUNCTIONS(F)                                                                                                       \
  F(size_t, cudnnGetVersion, ())                                                                                                         \
  F(const char*, cudnnGetErrorString, (DnnResult result))                                                                                \
  F(DnnResult, cudnnCreate, (DnnHandle * handle))                                                                                        \
  F(DnnResult, cudnnDestroy, (DnnHandle handle))                                                                                         \
  F(DnnResult, cudnnSetStream, (DnnHandle handle, StreamHandle stream))                                                                  \
  F(DnnResult, cudnnCreateTensorDescriptor, (DnnTensor * tensor))                                                                        \
  F(DnnResult, cudnnDestroyTensorDescriptor, (DnnTensor tensor))                                                                         \
  F(DnnResult, cudnnSetTensor4dDescriptor, (DnnTensor tensor, int format, int type, int n, int c, int h, int w))                         \
  F(DnnResult, cudnnCreateFilterDescriptor, (DnnFilter * filter))                                                                        \
  F(DnnResult, cudnnDestroyFilterDescriptor, (DnnFilter filter))                                                                         \
  F(DnnResult, cudnnSetFilter4dDescriptor, (DnnFilter filter, int type, int format, int k, int c, int h, int w))                         \
  F(DnnResult, cudnnCreateConvolutionDescriptor, (DnnWindow * window))                                                                   \
  F(DnnResult, cudnnDestroyConvolutionDescriptor, (DnnWindow window))                                                                    \
  F(DnnResult, cudnnSetConvolution2dDescriptor,                                                                                          \
    (DnnWindow window, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w, int mode, int sums))            \
  F(DnnResult, cudnnSetConvolutionGroupCount, (DnnWindow window, int groups))                                                            \
  F(DnnResult, cudnnSetConvolutionMathType, (DnnWindow window, int math))                                                                \
  F(DnnResult, cudnnGetConvolution2dForwardOutputDim,                                                                                    \
    (DnnWindow window, DnnTensor source, DnnFilter filter, int* n, int* c, int* h, int* w))                                              \
  F(DnnResult, cudnnCreateActivationDescriptor, (DnnActivation * activation))                                                            \
  F(DnnResult, cudnnDestroyActivationDescriptor, (DnnActivation activation))                                                             \
  F(DnnResult, cudnnSetActivationDescriptor, (DnnActivation activation, int mode, int nan, double coefficient))                          \
  F(DnnResult, cudnnGetConvolutionForwardAlgorithm_v7,                                                                                   \
    (DnnHandle handle, DnnTensor source, DnnFilter filter, DnnWindow window, DnnTensor result, int most, int* count, DnnFound* found))   \
  F(DnnResult, cudnnGetConvolutionForwardWorkspaceSize,                                                                                  \
    (DnnHandle handle, DnnTensor source, DnnFilter filter, DnnWindow window, DnnTensor result, int algorithm, size_t* bytes))            \
  F(DnnResult, cudnnConvolutionForward,                                                                                                  \
    (DnnHandle handle, const void* alpha, DnnTensor source_layout, const void* source, DnnFilter filter, const void* weights,            \
     DnnWindow window, int algorithm, void* workspace, size_t workspace_bytes, const void* beta, DnnTensor result_layout, void* result)) \
  F(DnnResult, cudnnConvolutionBiasActivationForward,                                                                                    \
    (DnnHandle handle, const void* alpha, DnnTensor source_layout, const void* source, DnnFilter filter, const void* weights,            \
     DnnWindow window, int algorithm, void* workspace, size_t workspace_bytes, const void* beta, DnnTensor addend_layout,                \
     const void* addend, DnnTensor bias_layout, const void* bias, DnnActivation activation, DnnTensor result_layout, void* result))

struct Cudnn {
// NOLINTBEGIN(bugprone-macro-parentheses): a list of parameters has its own
#define DEEPGAP_CUDNN_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  DEEPGAP_CUDNN_FUNCTIONS(DEEPGAP_CUDNN_MEMBER)
#undef DEEPGAP_CUDNN_MEMBER
  // NOLINTEND(bugprone-macro-parentheses)
  std::string path;

  std::string version() const;  // "9.19.0"
};

// Opens the library once a process. Throws Error{refused} that lists where it looked. Does not call the driver.
const Cudnn& cudnn();

// Opens `library`; if empty, the one that engines and toolkits have, or that DEEPGAP_CUDNN names.
Cudnn open_cudnn(const std::string& library);

// Throws for a result other than success: Error{out_of_memory}, Error{device_lost} where the device is, else Error{internal}; `doing`
// completes "... while DOING".
void check_dnn(DnnResult result, const std::string& doing);

using CudnnStandIn = StandIn<Cudnn>;  // for tests

}  // namespace deepgap::cuda
