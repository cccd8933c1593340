// A libcuda.so.1, and a libnvrtc, whose GPU is memory of the host (cuda/fake_driver.h): for what deepgap says and does where a GPU fails.
// Kernels compute nothing, so results are zeros. DEEPGAP_PLAYED_GPU sets it, settings apart by commas:
//     total=BYTES, others=BYTES     of its memory, held by other processes
//     devices=N, version=11040      what the driver reports
//     work=MS                       what a CUDA graph takes
//     fail=FUNCTION:RESULT[:AFTER]  the function fails, after so many calls
//     lose=FUNCTION:RESULT[:AFTER]  ... and then every other one
// and what played_cupti.cpp and played_cublas_lt.cpp say of their own.
#include "played_gpu.h"

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace {

using deepgap::cuda::FakeDriver;

std::vector<std::string> parts(const std::string& text, char at) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) result.push_back(part);
  return result;
}

void set(FakeDriver& gpu, const std::string& name, const std::string& value) {
  if (name == "total") gpu.total_bytes = std::stoull(value);
  if (name == "others") gpu.others_bytes = std::stoull(value);
  if (name == "devices") gpu.devices = std::stoi(value);
  if (name == "version") gpu.version = std::stoi(value);
  if (name == "work") gpu.work = std::chrono::milliseconds(std::stoi(value));
  if (name != "fail" && name != "lose") return;
  const auto words = parts(value, ':');
  const int result = std::stoi(words.at(1)), after = words.size() > 2 ? std::stoi(words[2]) : 0;
  name == "fail" ? gpu.fail(words[0], result, after) : gpu.lose(words[0], result, after);
}

const deepgap::cuda::Driver& table() {
  static const deepgap::cuda::Driver& made = played_gpu().table();
  return made;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> played_settings() {
  std::vector<std::pair<std::string, std::string>> all;
  const char* settings = std::getenv("DEEPGAP_PLAYED_GPU");
  for (const std::string& setting : parts(settings == nullptr ? "" : settings, ','))
    all.emplace_back(setting.substr(0, setting.find('=')), setting.substr(setting.find('=') + 1));
  return all;
}

FakeDriver& played_gpu() {
  static FakeDriver* gpu = [] {
    auto* made = new FakeDriver;
    for (const auto& [name, value] : played_settings()) set(*made, name, value);
    return made;
  }();
  return *gpu;
}

// What the played library asks: the played driver.
namespace deepgap::cuda {
__attribute__((visibility("hidden"))) const Driver& driver() { return table(); }
}  // namespace deepgap::cuda

// The driver's functions under their names.
#define DEEPGAP_PLAYED(name, parameters) DEEPGAP_PLAYED_FUNCTION(name, table().name)
DEEPGAP_CUDA_FUNCTIONS(DEEPGAP_PLAYED)
#undef DEEPGAP_PLAYED

// NVRTC: machine code is the text itself.
extern "C" {
int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
const char* nvrtcGetErrorString(int) { return "as a test has it"; }
int nvrtcCreateProgram(std::string** program, const char* text, const char*, int, const char* const*, const char* const*) {
  return *program = new std::string(text), 0;
}
int nvrtcDestroyProgram(std::string** program) { return delete *program, 0; }
int nvrtcCompileProgram(std::string*, int, const char* const*) { return 0; }
int nvrtcGetProgramLogSize(std::string*, size_t* bytes) { return *bytes = 1, 0; }
int nvrtcGetProgramLog(std::string*, char* log) { return *log = '\0', 0; }
int nvrtcGetCUBINSize(std::string* program, size_t* bytes) { return *bytes = program->size() + 1, 0; }
int nvrtcGetCUBIN(std::string* program, char* cubin) { return std::memcpy(cubin, program->c_str(), program->size() + 1), 0; }
}
