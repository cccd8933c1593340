// TensorFlow's objects with owners, and its failures as exceptions.
#pragma once

#include "backends/tensorflow/tf_library.h"

#include <deepgap/tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace deepgap {

// A failed call of the library, in its own words. Whoever knows what was asked turns it into an Error (tf_failure.h).
struct TfFailure {
  int code = 0;
  std::string message;
};

class TfStatus {
 public:
  TfStatus() : status_(tf().new_status()) {}
  ~TfStatus() { tf().delete_status(status_); }
  TfStatus(const TfStatus&) = delete;
  TfStatus& operator=(const TfStatus&) = delete;
  TfStatusObject* get() { return status_; }
  void check() const {  // throws TfFailure
    if (const int code = tf().get_code(status_); code != 0) throw TfFailure{code, tf().message(status_)};
  }

 private:
  TfStatusObject* status_;
};

struct TfTensorDeleter {
  void operator()(TfTensorObject* tensor) const { tf().delete_tensor(tensor); }
};
using TfTensor = std::unique_ptr<TfTensorObject, TfTensorDeleter>;

struct TfGraphDeleter {
  void operator()(TfGraphObject* graph) const { tf().delete_graph(graph); }
};
using TfGraph = std::unique_ptr<TfGraphObject, TfGraphDeleter>;

struct TfBufferDeleter {
  void operator()(TfBuffer* buffer) const { tf().delete_buffer(buffer); }
};
using TfBufferHandle = std::unique_ptr<TfBuffer, TfBufferDeleter>;

struct TfSessionOptionsDeleter {
  void operator()(TfSessionOptions* options) const { tf().delete_session_options(options); }
};
using TfSessionOptionsHandle = std::unique_ptr<TfSessionOptions, TfSessionOptionsDeleter>;

TfType tf_type(DataType type);
DataType type_of_tf(TfType type);  // throws Error{refused} for one that deepgap does not have

// A tensor over bytes that outlive it: nothing is copied where they are aligned to 64 bytes.
TfTensor tf_view(DataType type, const Shape& shape, const std::byte* data);
// A tensor that shares the bytes.
TfTensor tf_shared(const Tensor& tensor);
Shape shape_of(const TfTensorObject* tensor);

}  // namespace deepgap
