// PJRT's C interface (OpenXLA, xla/pjrt/c/pjrt_c_api.h), as far as it is used: declared here, so that a plug-in of XLA is found and opened
// at run time and a build needs none of its files. Each struct holds the arguments of one function, whose place in the table it names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepgap {

// These types are the plug-in's, and are only seen through pointers.
struct PjrtError;
struct PjrtEvent;
struct PjrtClientObject;
struct PjrtDevice;
struct PjrtExecutableObject;
struct PjrtBufferObject;

// The table that GetPjrtApi() returns. Later versions add functions at its end.
struct PjrtApi {
  size_t struct_size;
  void* extensions;
  struct {
    size_t struct_size;
    void* extensions;
    int major, minor;
  } version;
  PjrtError* (*functions[1])(void* arguments);  // as many as struct_size says
};

// What every struct of arguments begins with. The caller sets the size.
template <size_t Place>
struct PjrtArguments {
  static constexpr size_t place = Place;
  size_t struct_size = 0;
  void* extensions = nullptr;
};

struct PjrtDestroyError : PjrtArguments<0> {
  PjrtError* error = nullptr;
};
struct PjrtErrorMessage : PjrtArguments<1> {
  const PjrtError* error = nullptr;
  const char* message = nullptr;
  size_t message_size = 0;
};
struct PjrtErrorCode : PjrtArguments<2> {
  const PjrtError* error = nullptr;
  int code = 0;  // gRPC's codes
};
struct PjrtInitialize : PjrtArguments<3> {};

struct PjrtDestroyEvent : PjrtArguments<5> {
  PjrtEvent* event = nullptr;
};
struct PjrtAwait : PjrtArguments<8> {
  PjrtEvent* event = nullptr;
};

enum class PjrtValueType : int { text, integer, integers, number, boolean };
struct PjrtNamedValue {
  size_t struct_size = sizeof(PjrtNamedValue);
  void* extensions = nullptr;
  const char* name = nullptr;
  size_t name_size = 0;
  PjrtValueType type = PjrtValueType::text;
  union {
    const char* text;
    int64_t integer;
    const int64_t* integers;
    float number;
    bool boolean;
  };
  size_t value_size = 1;
};

struct PjrtCreateClient : PjrtArguments<10> {
  const PjrtNamedValue* options = nullptr;
  size_t option_count = 0;
  void* key_values_of_other_processes[4] = {};
  PjrtClientObject* client = nullptr;
};
struct PjrtDestroyClient : PjrtArguments<11> {
  PjrtClientObject* client = nullptr;
};
struct PjrtDevices : PjrtArguments<16> {  // those of this process
  PjrtClientObject* client = nullptr;
  PjrtDevice* const* devices = nullptr;
  size_t count = 0;
};

struct PjrtProgram {
  size_t struct_size = sizeof(PjrtProgram);
  void* extensions = nullptr;
  char* code = nullptr;
  size_t code_size = 0;
  const char* format = nullptr;
  size_t format_size = 0;
};
struct PjrtCompile : PjrtArguments<20> {
  PjrtClientObject* client = nullptr;
  const PjrtProgram* program = nullptr;
  const char* options = nullptr;  // a CompileOptionsProto, serialized
  size_t options_size = 0;
  PjrtExecutableObject* executable = nullptr;
};

enum class PjrtType : int { invalid, pred, s8, s16, s32, s64, u8, u16, u32, u64, f16, f32, f64, bf16 };
// until_copied: the bytes may go once the returned event has come. during_use: the buffer may lie over them for as long as it lives.
enum class PjrtHostBytes : int { during_call, until_copied, during_use };
struct PjrtBufferFromHost : PjrtArguments<22> {
  PjrtClientObject* client = nullptr;
  const void* data = nullptr;
  PjrtType type = PjrtType::invalid;
  const int64_t* dims = nullptr;
  size_t rank = 0;
  const int64_t* strides = nullptr;
  size_t stride_count = 0;
  PjrtHostBytes bytes = PjrtHostBytes::until_copied;
  PjrtDevice* device = nullptr;
  void* memory = nullptr;
  void* layout = nullptr;
  PjrtEvent* copied = nullptr;
  PjrtBufferObject* buffer = nullptr;
};

struct PjrtMemoryStats : PjrtArguments<34> {
  PjrtDevice* device = nullptr;
  int64_t bytes_in_use = 0;
  struct Optional {
    int64_t value = 0;
    bool is_set = false;
  };
  Optional peak_bytes_in_use, allocations, largest_allocation, bytes_limit, bytes_reserved, peak_bytes_reserved, bytes_reservable,
      largest_free_block, pool_bytes, peak_pool_bytes;
};

struct PjrtDestroyExecutable : PjrtArguments<50> {
  PjrtExecutableObject* executable = nullptr;
};
struct PjrtExecuteOptions {
  size_t struct_size = sizeof(PjrtExecuteOptions);
  void* extensions = nullptr;
  void* callbacks[2] = {};
  size_t callback_counts[2] = {};
  int launch_id = 0;
  const int64_t* kept_inputs = nullptr;  // inputs whose buffers must not be reused for outputs
  size_t kept_input_count = 0;
  void* later_fields[12] = {};
};
struct PjrtExecute : PjrtArguments<55> {
  PjrtExecutableObject* executable = nullptr;
  PjrtExecuteOptions* options = nullptr;
  PjrtBufferObject* const* const* arguments = nullptr;  // by device
  size_t device_count = 1;
  size_t argument_count = 0;
  PjrtBufferObject** const* outputs = nullptr;  // by device
  PjrtEvent** complete = nullptr;               // by device; may be null
  PjrtDevice* device = nullptr;
};

struct PjrtDestroyBuffer : PjrtArguments<58> {
  PjrtBufferObject* buffer = nullptr;
};
struct PjrtBufferToHost : PjrtArguments<70> {
  PjrtBufferObject* buffer = nullptr;
  void* layout = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
  PjrtEvent* copied = nullptr;
};
struct PjrtReadyEvent : PjrtArguments<72> {
  PjrtBufferObject* buffer = nullptr;
  PjrtEvent* event = nullptr;
};
struct PjrtDeviceAddress : PjrtArguments<76> {
  PjrtBufferObject* buffer = nullptr;
  void* address = nullptr;
};
struct PjrtViewOfDevice : PjrtArguments<93> {
  PjrtClientObject* client = nullptr;
  void* address = nullptr;
  const int64_t* dims = nullptr;
  size_t rank = 0;
  PjrtType type = PjrtType::invalid;
  void* layout = nullptr;
  PjrtDevice* device = nullptr;
  void (*on_delete)(void* address, void* argument) = nullptr;
  void* on_delete_argument = nullptr;
  intptr_t stream = 0;
  PjrtBufferObject* buffer = nullptr;
  void* memory = nullptr;
};

}  // namespace deepgap
