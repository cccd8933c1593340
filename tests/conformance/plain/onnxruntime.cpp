// A kept case by ONNX Runtime's own interface: a session on the file with the number of threads and nothing else, and one run. Of deepgap's
// plug-in it has what finds and opens the library, whose package ships no header.
#include "backends/onnxruntime/ort_library.h"
#include "plain_case.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace {

using namespace deepgap;

constexpr OrtFunction<30, OrtStatus*(const OrtSession*, size_t*)> get_input_count;
constexpr OrtFunction<31, OrtStatus*(const OrtSession*, size_t*)> get_output_count;
constexpr OrtFunction<36, OrtStatus*(const OrtSession*, size_t, OrtAllocator*, char**)> get_input_name;
constexpr OrtFunction<37, OrtStatus*(const OrtSession*, size_t, OrtAllocator*, char**)> get_output_name;
constexpr std::array<int, 13> types{1, 11, 10, 16, 3, 5, 6, 7, 2, 4, 12, 13, 9};  // ONNX's numbers, in DataType's order

const OrtLibrary& ort() { return OrtLibrary::instance(); }

OrtValue* value_of(const Tensor& given, OrtMemoryInfo* memory) {
  OrtValue* value = nullptr;
  ort().call(ort_create_tensor_with_data, memory, const_cast<std::byte*>(given.data.get()), given.bytes(), given.shape.data(),
             given.shape.size(), types[static_cast<size_t>(given.type)], &value);
  return value;
}

Tensor copied(OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  int type = 0;
  size_t rank = 0;
  ort().call(ort_get_type_and_shape, value, &info);
  ort().call(ort_get_element_type, info, &type);
  ort().call(ort_get_rank, info, &rank);
  Shape shape(rank);
  ort().call(ort_get_dimensions, info, shape.data(), rank);
  const auto found = std::find(types.begin(), types.end(), type);
  if (found == types.end()) throw Error(ErrorKind::input, "an output of ONNX type " + std::to_string(type));
  Tensor copy = make_tensor(static_cast<DataType>(found - types.begin()), shape);
  void* data = nullptr;
  ort().call(ort_get_tensor_data, value, &data);
  if (copy.bytes() > 0) std::memcpy(const_cast<std::byte*>(copy.data.get()), data, copy.bytes());
  return copy;
}

template <size_t CountSlot, size_t NameSlot>
std::vector<const char*> names(OrtSession* session, OrtFunction<CountSlot, OrtStatus*(const OrtSession*, size_t*)> count_of,
                               OrtFunction<NameSlot, OrtStatus*(const OrtSession*, size_t, OrtAllocator*, char**)> name_of) {
  OrtAllocator* allocator = nullptr;
  size_t count = 0;
  ort().call(ort_default_allocator, &allocator);
  ort().call(count_of, session, &count);
  std::vector<const char*> all(count);
  for (size_t i = 0; i < count; ++i) ort().call(name_of, session, i, allocator, const_cast<char**>(&all[i]));
  return all;
}

std::vector<Tensor> answer(const conformance::PlainCase& given) {
  try {
    OrtSessionOptions* options = nullptr;
    OrtSession* session = nullptr;
    OrtMemoryInfo* memory = nullptr;
    ort().call(ort_create_session_options, &options);
    ort().call(ort_set_intra_op_threads, options, given.threads);
    ort().call(ort_create_session, ort().env(), given.model().c_str(), options, &session);
    ort().call(ort_create_cpu_memory_info, ort_arena_allocator, ort_memory_default, &memory);
    const auto inputs = names(session, get_input_count, get_input_name), outputs = names(session, get_output_count, get_output_name);
    std::vector<OrtValue*> asked, answered(outputs.size());
    for (const Tensor& input : given.inputs) asked.push_back(value_of(input, memory));
    ort().call(ort_run, session, nullptr, inputs.data(), asked.data(), asked.size(), outputs.data(), outputs.size(), answered.data());
    std::vector<Tensor> results;
    for (OrtValue* value : answered) results.push_back(copied(value));
    return results;
  } catch (const OrtFailure& failure) {
    throw conformance::EngineFailure{failure.message};
  }
}

}  // namespace

int main(int argc, char** argv) { return deepgap::conformance::run_plain_case(argc, argv, answer); }
