// TensorFlow's C interface, as far as it is used: declared here, so that the library is found and opened at run time and a build needs
// none of its files. The names are the C functions' without "TF_".
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepgap {

// These types are the library's, and are only seen through pointers.
struct TfStatusObject;
struct TfTensorObject;
struct TfGraphObject;
struct TfOperation;
struct TfDescription;  // describes an operation that is being made
struct TfSessionObject;
struct TfSessionOptions;

enum class TfType : int {
  f32 = 1,
  f64 = 2,
  i32 = 3,
  u8 = 4,
  i16 = 5,
  i8 = 6,
  text = 7,
  i64 = 9,
  boolean = 10,
  bf16 = 14,
  u16 = 17,
  f16 = 19,
  resource = 20,
  u32 = 22,
  u64 = 23
};

struct TfOutput {
  TfOperation* operation = nullptr;
  int index = 0;
  explicit operator bool() const { return operation != nullptr; }
};

struct TfBuffer {
  const void* data = nullptr;
  size_t length = 0;
  void (*free)(void* data, size_t length) = nullptr;
};

struct TfApi {
  const char* (*version)();
  // Status: 0 is success.
  TfStatusObject* (*new_status)();
  void (*delete_status)(TfStatusObject*);
  int (*get_code)(const TfStatusObject*);
  const char* (*message)(const TfStatusObject*);
  // Tensors.
  TfTensorObject* (*new_tensor)(TfType, const int64_t* dims, int rank, void* data, size_t bytes, void (*free)(void*, size_t, void*), void*);
  void (*delete_tensor)(TfTensorObject*);
  TfType (*tensor_type)(const TfTensorObject*);
  int (*num_dims)(const TfTensorObject*);
  int64_t (*dim)(const TfTensorObject*, int);
  size_t (*tensor_byte_size)(const TfTensorObject*);
  void* (*tensor_data)(const TfTensorObject*);
  // Buffers.
  TfBuffer* (*new_buffer)();
  void (*delete_buffer)(TfBuffer*);
  // Graphs.
  TfGraphObject* (*new_graph)();
  void (*delete_graph)(TfGraphObject*);
  TfDescription* (*new_operation)(TfGraphObject*, const char* type, const char* name);
  TfOperation* (*finish_operation)(TfDescription*, TfStatusObject*);
  void (*add_input)(TfDescription*, TfOutput);
  void (*add_input_list)(TfDescription*, const TfOutput*, int count);
  void (*add_control_input)(TfDescription*, TfOperation*);
  void (*set_attr_string)(TfDescription*, const char* name, const void* text, size_t length);
  void (*set_attr_int)(TfDescription*, const char* name, int64_t);
  void (*set_attr_int_list)(TfDescription*, const char* name, const int64_t*, int count);
  void (*set_attr_float)(TfDescription*, const char* name, float);
  void (*set_attr_bool)(TfDescription*, const char* name, unsigned char);
  void (*set_attr_type)(TfDescription*, const char* name, TfType);
  void (*set_attr_shape)(TfDescription*, const char* name, const int64_t* dims, int rank);
  void (*set_attr_tensor)(TfDescription*, const char* name, TfTensorObject*, TfStatusObject*);
  TfType (*operation_output_type)(TfOutput);
  TfOperation* (*graph_operation_by_name)(TfGraphObject*, const char* name);
  int (*graph_get_tensor_num_dims)(TfGraphObject*, TfOutput, TfStatusObject*);
  void (*graph_get_tensor_shape)(TfGraphObject*, TfOutput, int64_t* dims, int rank, TfStatusObject*);
  void (*add_gradients)(TfGraphObject*, TfOutput* y, int ny, TfOutput* x, int nx, TfOutput* dx, TfStatusObject*, TfOutput* dy);
  // Sessions.
  TfSessionOptions* (*new_session_options)();
  void (*delete_session_options)(TfSessionOptions*);
  void (*set_config)(TfSessionOptions*, const void* proto, size_t length, TfStatusObject*);
  TfSessionObject* (*new_session)(TfGraphObject*, const TfSessionOptions*, TfStatusObject*);
  TfSessionObject* (*load_session_from_saved_model)(const TfSessionOptions*, const TfBuffer* run_options, const char* folder,
                                                    const char* const* tags, int tag_count, TfGraphObject*, TfBuffer* meta_graph,
                                                    TfStatusObject*);
  void (*close_session)(TfSessionObject*, TfStatusObject*);
  void (*delete_session)(TfSessionObject*, TfStatusObject*);
  void (*session_run)(TfSessionObject*, const TfBuffer* run_options, const TfOutput* inputs, TfTensorObject* const* values,
                      int inputs_count, const TfOutput* outputs, TfTensorObject** results, int outputs_count,
                      const TfOperation* const* targets, int targets_count, TfBuffer* metadata, TfStatusObject*);
};

}  // namespace deepgap
