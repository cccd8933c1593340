// A plain loop over ONNX Runtime's C interface: session options with the number of threads and nothing else, one input and one output
// value, Run. It knows nothing of our Session; of deepgap's code it has the numbers of the interface's slots, since the package ships no
// header.
#include "backends/onnxruntime/ort_slots.h"
#include "plain_loop.h"

#include <dlfcn.h>

#include <type_traits>
#include <vector>

namespace {

using namespace deepgap;

constexpr OrtFunction<36, OrtStatus*(const OrtSession*, size_t index, OrtAllocator*, char**)> get_input_name;
constexpr OrtFunction<37, OrtStatus*(const OrtSession*, size_t index, OrtAllocator*, char**)> get_output_name;

void* const* table = nullptr;

template <size_t Slot, typename R, typename... P>
R raw(OrtFunction<Slot, R(P...)>, std::type_identity_t<P>... arguments) {
  return reinterpret_cast<R (*)(P...)>(table[Slot])(arguments...);
}
template <size_t Slot, typename... P>
void call(OrtFunction<Slot, OrtStatus*(P...)> function, std::type_identity_t<P>... arguments) {
  OrtStatus* status = raw(function, arguments...);
  if (status == nullptr) return;
  std::fprintf(stderr, "peer_onnxruntime: %s\n", raw(ort_get_error_message, status));
  std::exit(1);
}

void open_library() {
  const char* named = std::getenv("DEEPGAP_ONNXRUNTIME");
  const std::string path = named == nullptr ? DEEPGAP_ORT_LIBRARY : named;
  void* library = ::dlopen(path.c_str(), RTLD_NOW);
  void* entry = library == nullptr ? nullptr : ::dlsym(library, "OrtGetApiBase");
  if (entry == nullptr) {
    std::fprintf(stderr, "peer_onnxruntime: %s\n", ::dlerror());
    std::exit(1);
  }
  table = reinterpret_cast<const OrtApiBase* (*)()>(entry)()->get_api(ort_api_version);
}

// [batch, 3, 224, 224] to [batch, 1000], as the zoo's networks are.
OrtValue* value(OrtMemoryInfo* memory, std::vector<float>& data, const std::vector<int64_t>& shape) {
  constexpr int f32 = 1;
  OrtValue* made = nullptr;
  call(ort_create_tensor_with_data, memory, data.data(), data.size() * sizeof(float), shape.data(), shape.size(), f32, &made);
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = peers::parse(argc, argv);
  ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  open_library();
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* memory = nullptr;
  call(ort_create_env, ort_log_error, "peer", &env);
  call(ort_create_session_options, &options);
  call(ort_set_intra_op_threads, options, arguments.threads);
  call(ort_create_session, env, arguments.file.c_str(), options, &session);
  call(ort_create_cpu_memory_info, ort_arena_allocator, ort_memory_default, &memory);
  std::vector<float> x(static_cast<size_t>(arguments.batch) * 3 * 224 * 224, 0.5f), y(static_cast<size_t>(arguments.batch) * 1000);
  const OrtValue* input = value(memory, x, {arguments.batch, 3, 224, 224});
  OrtValue* output = value(memory, y, {arguments.batch, 1000});
  OrtAllocator* allocator = nullptr;
  char* names[2] = {};
  call(ort_default_allocator, &allocator);
  call(get_input_name, session, 0, allocator, &names[0]);
  call(get_output_name, session, 0, allocator, &names[1]);
  peers::run(arguments, [&] { call(ort_run, session, nullptr, &names[0], &input, 1, &names[1], 1, &output); });
  return 0;
}
