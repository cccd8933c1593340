// The part of ONNX Runtime's C interface that deepgap uses. The packages ship no header, but the interface is one append-only table of
// function pointers: a function is known by its slot and signature, which never change once released.
// Source: the order of struct OrtApi in onnxruntime_c_api.h of release 1.29, tried against the library 1.31.1. Every slot here was there
// by release 1.23 (the newest is AllocatorGetStats).
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepgap {

// Opaque: the library makes and releases them.
struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtMemoryInfo;
struct OrtAllocator;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtKeyValuePairs;
struct OrtIoBinding;
struct OrtCUDAProviderOptionsV2;
struct OrtTensorRTProviderOptionsV2;

// The result of OrtGetApiBase().
struct OrtApiBase {
  void* const* (*get_api)(uint32_t version);  // null when the library is older than `version`
  const char* (*get_version_string)();
};
inline constexpr uint32_t ort_api_version = 23;

template <size_t Slot, typename Signature>
struct OrtFunction {};

inline constexpr OrtFunction<1, int(const OrtStatus*)> ort_get_error_code;
inline constexpr OrtFunction<2, const char*(const OrtStatus*)> ort_get_error_message;
inline constexpr OrtFunction<3, OrtStatus*(int log_severity, const char* log_id, OrtEnv**)> ort_create_env;
inline constexpr OrtFunction<6, OrtStatus*(const OrtEnv*)> ort_disable_telemetry_events;
inline constexpr OrtFunction<7, OrtStatus*(const OrtEnv*, const char* path, const OrtSessionOptions*, OrtSession**)> ort_create_session;
inline constexpr OrtFunction<8, OrtStatus*(const OrtEnv*, const void*, size_t, const OrtSessionOptions*, OrtSession**)>
    ort_create_session_from_array;
// Outputs that are null are made by the library, the others are written into.
inline constexpr OrtFunction<9, OrtStatus*(OrtSession*, const OrtRunOptions*, const char* const* input_names, const OrtValue* const* inputs,
                                           size_t inputs_count, const char* const* output_names, size_t outputs_count, OrtValue** outputs)>
    ort_run;
inline constexpr OrtFunction<10, OrtStatus*(OrtSessionOptions**)> ort_create_session_options;
inline constexpr OrtFunction<13, OrtStatus*(OrtSessionOptions*, int mode)> ort_set_execution_mode;
inline constexpr OrtFunction<14, OrtStatus*(OrtSessionOptions*, const char* file_prefix)> ort_enable_profiling;
inline constexpr OrtFunction<22, OrtStatus*(OrtSessionOptions*, int severity)> ort_set_log_severity;
inline constexpr OrtFunction<23, OrtStatus*(OrtSessionOptions*, int level)> ort_set_graph_optimization;
inline constexpr OrtFunction<24, OrtStatus*(OrtSessionOptions*, int threads)> ort_set_intra_op_threads;
inline constexpr OrtFunction<25, OrtStatus*(OrtSessionOptions*, int threads)> ort_set_inter_op_threads;
inline constexpr OrtFunction<34, OrtStatus*(const OrtSession*, size_t index, OrtTypeInfo**)> ort_get_output_type_info;
// The bytes stay the caller's and must outlive the value.
inline constexpr OrtFunction<49, OrtStatus*(const OrtMemoryInfo*, void*, size_t bytes, const int64_t* shape, size_t rank, int element_type,
                                            OrtValue**)>
    ort_create_tensor_with_data;
inline constexpr OrtFunction<51, OrtStatus*(OrtValue*, void**)> ort_get_tensor_data;
inline constexpr OrtFunction<55, OrtStatus*(const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo**)> ort_tensor_of_type_info;  // part of it
inline constexpr OrtFunction<60, OrtStatus*(const OrtTensorTypeAndShapeInfo*, int*)> ort_get_element_type;
inline constexpr OrtFunction<61, OrtStatus*(const OrtTensorTypeAndShapeInfo*, size_t*)> ort_get_rank;
inline constexpr OrtFunction<62, OrtStatus*(const OrtTensorTypeAndShapeInfo*, int64_t*, size_t)> ort_get_dimensions;
inline constexpr OrtFunction<65, OrtStatus*(const OrtValue*, OrtTensorTypeAndShapeInfo**)> ort_get_type_and_shape;
inline constexpr OrtFunction<69, OrtStatus*(int allocator_type, int memory_type, OrtMemoryInfo**)> ort_create_cpu_memory_info;
inline constexpr OrtFunction<76, OrtStatus*(OrtAllocator*, void*)> ort_allocator_free;
inline constexpr OrtFunction<78, OrtStatus*(OrtAllocator**)> ort_default_allocator;  // the library keeps it
inline constexpr OrtFunction<93, void(OrtStatus*)> ort_release_status;
inline constexpr OrtFunction<94, void(OrtMemoryInfo*)> ort_release_memory_info;
inline constexpr OrtFunction<95, void(OrtSession*)> ort_release_session;
inline constexpr OrtFunction<96, void(OrtValue*)> ort_release_value;
inline constexpr OrtFunction<98, void(OrtTypeInfo*)> ort_release_type_info;
inline constexpr OrtFunction<99, void(OrtTensorTypeAndShapeInfo*)> ort_release_type_and_shape;
inline constexpr OrtFunction<100, void(OrtSessionOptions*)> ort_release_session_options;
// The name of the file written, of the allocator.
inline constexpr OrtFunction<110, OrtStatus*(OrtSession*, OrtAllocator*, char**)> ort_end_profiling;
inline constexpr OrtFunction<125, OrtStatus*(char*** names, int* count)> ort_available_providers;
inline constexpr OrtFunction<126, OrtStatus*(char** names, int count)> ort_release_available_providers;
inline constexpr OrtFunction<130, OrtStatus*(OrtSessionOptions*, const char* key, const char* value)> ort_add_config_entry;
inline constexpr OrtFunction<131, OrtStatus*(const OrtSession*, const OrtMemoryInfo*, OrtAllocator**)> ort_create_allocator;
inline constexpr OrtFunction<132, void(OrtAllocator*)> ort_release_allocator;
inline constexpr OrtFunction<133, OrtStatus*(OrtSession*, const OrtRunOptions*, const OrtIoBinding*)> ort_run_with_binding;
inline constexpr OrtFunction<134, OrtStatus*(OrtSession*, OrtIoBinding**)> ort_create_io_binding;
inline constexpr OrtFunction<135, void(OrtIoBinding*)> ort_release_io_binding;
inline constexpr OrtFunction<136, OrtStatus*(OrtIoBinding*, const char* name, const OrtValue*)> ort_bind_input;
inline constexpr OrtFunction<137, OrtStatus*(OrtIoBinding*, const char* name, const OrtValue*)> ort_bind_output;
// The library makes the value, in that memory.
inline constexpr OrtFunction<138, OrtStatus*(OrtIoBinding*, const char* name, const OrtMemoryInfo*)> ort_bind_output_to_device;
// The array is of the allocator, each value in it is the caller's.
inline constexpr OrtFunction<140, OrtStatus*(const OrtIoBinding*, OrtAllocator*, OrtValue***, size_t* count)> ort_bound_outputs;
inline constexpr OrtFunction<170, OrtStatus*(OrtSessionOptions*, const OrtTensorRTProviderOptionsV2*)> ort_append_tensorrt;
inline constexpr OrtFunction<171, OrtStatus*(OrtTensorRTProviderOptionsV2**)> ort_create_tensorrt_options;
inline constexpr OrtFunction<172, OrtStatus*(OrtTensorRTProviderOptionsV2*, const char* const* keys, const char* const* values, size_t)>
    ort_update_tensorrt_options;
inline constexpr OrtFunction<174, void(OrtTensorRTProviderOptionsV2*)> ort_release_tensorrt_options;
inline constexpr OrtFunction<204, OrtStatus*(OrtSessionOptions*, const OrtCUDAProviderOptionsV2*)> ort_append_cuda;
inline constexpr OrtFunction<205, OrtStatus*(OrtCUDAProviderOptionsV2**)> ort_create_cuda_options;
inline constexpr OrtFunction<206, OrtStatus*(OrtCUDAProviderOptionsV2*, const char* const* keys, const char* const* values, size_t)>
    ort_update_cuda_options;
inline constexpr OrtFunction<208, void(OrtCUDAProviderOptionsV2*)> ort_release_cuda_options;
// The library is kept open by the session, and calls the function RegisterCustomOps that it exports.
inline constexpr OrtFunction<228, OrtStatus*(OrtSessionOptions*, const char* path)> ort_register_custom_ops_library;
inline constexpr OrtFunction<275, OrtStatus*(OrtSessionOptions*, const char* const* keys, const char* const* values, size_t)>
    ort_append_openvino;
inline constexpr OrtFunction<297, const char*(const OrtKeyValuePairs*, const char* key)> ort_get_key_value;
inline constexpr OrtFunction<300, void(OrtKeyValuePairs*)> ort_release_key_values;
inline constexpr OrtFunction<319, OrtStatus*(const OrtAllocator*, OrtKeyValuePairs**)> ort_allocator_stats;

// OrtErrorCode
inline constexpr int ort_invalid_argument = 2, ort_invalid_protobuf = 7, ort_not_implemented = 9, ort_invalid_graph = 10;
// OrtLoggingLevel
inline constexpr int ort_log_error = 3;
// ExecutionMode
inline constexpr int ort_sequential = 0, ort_parallel = 1;
// GraphOptimizationLevel
inline constexpr int ort_disable_all = 0, ort_enable_basic = 1, ort_enable_extended = 2, ort_enable_layout = 3, ort_enable_all = 99;
// OrtAllocatorType, OrtMemType
inline constexpr int ort_arena_allocator = 1, ort_memory_default = 0;

}  // namespace deepgap
