#include "backends/tensorflow/tf_library.h"

#include "base/own_libraries.h"
#include "base/python_package.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> library_names{"libtensorflow_cc.so.2", "libtensorflow.so.2"};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::refused, message); }

std::optional<std::string> library_in(const fs::path& folder) {
  std::error_code error;
  for (const fs::path& place : {folder, folder / "lib", folder / "tensorflow"}) {
    for (const char* name : library_names) {
      if (fs::is_regular_file(place / name, error)) return (place / name).lexically_normal().string();
    }
  }
  return std::nullopt;
}

template <typename Function>
void resolve(void* library, const std::string& path, const char* name, Function*& function) {
  void* found = ::dlsym(library, name);
  if (found == nullptr) refuse(fmt::format("{} is not a TensorFlow that can be used: it has no function {}", path, name));
  function = reinterpret_cast<Function*>(found);
}

void resolve_objects(void* library, const std::string& path, TfApi& api) {
  resolve(library, path, "TF_NewStatus", api.new_status);
  resolve(library, path, "TF_DeleteStatus", api.delete_status);
  resolve(library, path, "TF_GetCode", api.get_code);
  resolve(library, path, "TF_Message", api.message);
  resolve(library, path, "TF_NewTensor", api.new_tensor);
  resolve(library, path, "TF_DeleteTensor", api.delete_tensor);
  resolve(library, path, "TF_TensorType", api.tensor_type);
  resolve(library, path, "TF_NumDims", api.num_dims);
  resolve(library, path, "TF_Dim", api.dim);
  resolve(library, path, "TF_TensorByteSize", api.tensor_byte_size);
  resolve(library, path, "TF_TensorData", api.tensor_data);
  resolve(library, path, "TF_NewBuffer", api.new_buffer);
  resolve(library, path, "TF_DeleteBuffer", api.delete_buffer);
}

void resolve_graphs(void* library, const std::string& path, TfApi& api) {
  resolve(library, path, "TF_NewGraph", api.new_graph);
  resolve(library, path, "TF_DeleteGraph", api.delete_graph);
  resolve(library, path, "TF_NewOperation", api.new_operation);
  resolve(library, path, "TF_FinishOperation", api.finish_operation);
  resolve(library, path, "TF_AddInput", api.add_input);
  resolve(library, path, "TF_AddInputList", api.add_input_list);
  resolve(library, path, "TF_AddControlInput", api.add_control_input);
  resolve(library, path, "TF_SetAttrString", api.set_attr_string);
  resolve(library, path, "TF_SetAttrInt", api.set_attr_int);
  resolve(library, path, "TF_SetAttrIntList", api.set_attr_int_list);
  resolve(library, path, "TF_SetAttrFloat", api.set_attr_float);
  resolve(library, path, "TF_SetAttrBool", api.set_attr_bool);
  resolve(library, path, "TF_SetAttrType", api.set_attr_type);
  resolve(library, path, "TF_SetAttrShape", api.set_attr_shape);
  resolve(library, path, "TF_SetAttrTensor", api.set_attr_tensor);
  resolve(library, path, "TF_OperationOutputType", api.operation_output_type);
  resolve(library, path, "TF_GraphOperationByName", api.graph_operation_by_name);
  resolve(library, path, "TF_GraphGetTensorNumDims", api.graph_get_tensor_num_dims);
  resolve(library, path, "TF_GraphGetTensorShape", api.graph_get_tensor_shape);
  resolve(library, path, "TF_AddGradients", api.add_gradients);
}

void resolve_sessions(void* library, const std::string& path, TfApi& api) {
  resolve(library, path, "TF_NewSessionOptions", api.new_session_options);
  resolve(library, path, "TF_DeleteSessionOptions", api.delete_session_options);
  resolve(library, path, "TF_SetConfig", api.set_config);
  resolve(library, path, "TF_NewSession", api.new_session);
  resolve(library, path, "TF_LoadSessionFromSavedModel", api.load_session_from_saved_model);
  resolve(library, path, "TF_CloseSession", api.close_session);
  resolve(library, path, "TF_DeleteSession", api.delete_session);
  resolve(library, path, "TF_SessionRun", api.session_run);
}

bool cpu_has(const std::string& feature) {
  if (feature == "sse4.1") return __builtin_cpu_supports("sse4.1") != 0;
  if (feature == "sse4.2") return __builtin_cpu_supports("sse4.2") != 0;
  return feature == "avx" && __builtin_cpu_supports("avx") != 0;
}

}  // namespace

std::string find_tensorflow() {
  if (const char* named = ::getenv("DEEPGAP_TENSORFLOW"); named != nullptr && *named != '\0') {
    std::error_code error;
    if (fs::is_regular_file(named, error)) return named;
    if (const auto found = library_in(named)) return *found;
    refuse(fmt::format("no {} at DEEPGAP_TENSORFLOW={}, nor in its lib or tensorflow", library_names.front(), named));
  }
  static const int anchor = 0;
  std::vector<std::string> tried;
  for (const std::string& folder : own_library_folders(&anchor)) {
    tried.push_back(folder + "/tensorflow");
    if (const auto found = library_in(tried.back())) return *found;
  }
  const std::string python = folder_of_python_package("tensorflow");
  if (!python.empty()) {
    if (const auto found = library_in(python)) return *found;
    tried.push_back(python);
  }
  refuse(fmt::format(
      "no {} in {}{}; set DEEPGAP_TENSORFLOW to its folder, or install tensorflow-cpu {} (docs/reference/engines/tensorflow.md)",
      library_names.front(), join(tried, ", "), python.empty() ? ", and the Python on PATH has no tensorflow" : "", tf_least_version));
}

std::string tf_version_defect(const std::string& version) {
  int major = 0, minor = 0;
  const bool reads = std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2;
  if (reads && major == 2 && minor >= 21) return {};
  return fmt::format("it is version {}, expected {} or a later 2.x", reads ? version : fmt::format("'{}'", version), tf_least_version);
}

std::string tf_cpu_defect(const std::function<bool(const std::string&)>& has) {
  std::vector<std::string> missing;
  for (const char* feature : {"sse4.1", "sse4.2", "avx"}) {
    if (!has(feature)) missing.emplace_back(feature);
  }
  return missing.empty() ? "" : fmt::format("TensorFlow's code needs {}, which this CPU does not have", join(missing, ", "));
}

const TfLibrary& TfLibrary::instance() {
  static const TfLibrary library;
  return library;
}

TfLibrary::TfLibrary() : path_(find_tensorflow()) {
  // Where they are missing the library writes a line and aborts as it is opened.
  if (const std::string defect = tf_cpu_defect(cpu_has); !defect.empty()) refuse(defect);
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0);  // errors only: its notes would stand between a run's lines
  void* library = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) refuse(fmt::format("TensorFlow does not load: {}", ::dlerror()));
  resolve(library, path_, "TF_Version", api_.version);
  if (const std::string defect = tf_version_defect(api_.version()); !defect.empty())
    refuse(fmt::format("the TensorFlow at {} cannot be used: {}", path_, defect));
  resolve_objects(library, path_, api_);
  resolve_graphs(library, path_, api_);
  resolve_sessions(library, path_, api_);
}

}  // namespace deepgap
