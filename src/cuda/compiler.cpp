#include "cuda/compiler.h"

#include "base/text.h"
#include "cuda/find_library.h"
#include "cuda/library_folders.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace deepgap::cuda {
namespace {

using Program = struct ProgramTag*;

struct Nvrtc {
  int (*nvrtcVersion)(int*, int*) = nullptr;
  const char* (*nvrtcGetErrorString)(int) = nullptr;
  int (*nvrtcCreateProgram)(Program*, const char* text, const char* name, int, const char* const*, const char* const*) = nullptr;
  int (*nvrtcDestroyProgram)(Program*) = nullptr;
  int (*nvrtcCompileProgram)(Program, int count, const char* const* options) = nullptr;
  int (*nvrtcGetProgramLogSize)(Program, size_t*) = nullptr;
  int (*nvrtcGetProgramLog)(Program, char*) = nullptr;
  int (*nvrtcGetCUBINSize)(Program, size_t*) = nullptr;
  int (*nvrtcGetCUBIN)(Program, char*) = nullptr;
  std::string path;
};

Nvrtc opened(const FoundLibrary& library) {
  const auto find = [&](const char* name, auto& function) { find_function(library, "NVRTC", name, function); };
  Nvrtc made;
  made.path = library.path;
  find("nvrtcVersion", made.nvrtcVersion);
  find("nvrtcGetErrorString", made.nvrtcGetErrorString);
  find("nvrtcCreateProgram", made.nvrtcCreateProgram);
  find("nvrtcDestroyProgram", made.nvrtcDestroyProgram);
  find("nvrtcCompileProgram", made.nvrtcCompileProgram);
  find("nvrtcGetProgramLogSize", made.nvrtcGetProgramLogSize);
  find("nvrtcGetProgramLog", made.nvrtcGetProgramLog);
  find("nvrtcGetCUBINSize", made.nvrtcGetCUBINSize);
  find("nvrtcGetCUBIN", made.nvrtcGetCUBIN);
  return made;
}

Nvrtc found() {
  return opened(find_library({.title = "NVRTC",
                              .kind = "the CUDA compiler as a library",
                              .names = {"libnvrtc.so.13", "libnvrtc.so.12"},
                              .variable = "DEEPGAP_NVRTC",
                              .package = "nvidia-cuda-nvrtc",
                              .folders = library_folders()}));
}

const Nvrtc& nvrtc() {
  static const Nvrtc instance = found();
  return instance;
}

void check_compiler(int result, const char* doing) {
  if (result != 0) throw Error(ErrorKind::internal, fmt::format("NVRTC says {} while {}", nvrtc().nvrtcGetErrorString(result), doing));
}

std::string log_of(Program program) {
  size_t bytes = 0;
  check_compiler(nvrtc().nvrtcGetProgramLogSize(program, &bytes), "its log is read");
  std::string log(bytes, '\0');
  check_compiler(nvrtc().nvrtcGetProgramLog(program, log.data()), "its log is read");
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

std::string first_error(const std::string& log) {
  for (const std::string& line : split(log, '\n'))
    if (line.find("error") != std::string::npos) return line;
  return log.substr(0, log.find('\n'));
}

// The largest number that stands before `words`.
int largest_before(const std::string& log, const std::string& words) {
  int largest = 0;
  for (size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1)) {
    size_t begin = at;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') begin--;
    if (begin < at) largest = std::max(largest, std::atoi(log.c_str() + begin));
  }
  return largest;
}

struct Destroy {
  void operator()(Program program) const { nvrtc().nvrtcDestroyProgram(&program); }
};

}  // namespace

bool has_compiler() {
  try {
    static_cast<void>(nvrtc());
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string compiler_description() {
  int major = 0, minor = 0;
  check_compiler(nvrtc().nvrtcVersion(&major, &minor), "asked for its version");
  return fmt::format("NVRTC {}.{}, {}", major, minor, nvrtc().path);
}

Compiled compile(const std::string& text, const std::string& architecture) {
  Program made = nullptr;
  check_compiler(nvrtc().nvrtcCreateProgram(&made, text.c_str(), "kernel.cu", 0, nullptr, nullptr), "a program is made");
  const std::unique_ptr<ProgramTag, Destroy> program(made);
  const std::string target = "--gpu-architecture=" + architecture;
  const std::array<const char*, 4> options{target.c_str(), "--std=c++17", "--ptxas-options=-v", "--extra-device-vectorization"};
  const int result = nvrtc().nvrtcCompileProgram(made, static_cast<int>(options.size()), options.data());
  Compiled compiled;
  compiled.log = log_of(made);
  if (result != 0)
    throw Error(ErrorKind::internal, fmt::format("a kernel does not compile for {}: {}", architecture, first_error(compiled.log)));
  size_t bytes = 0;
  check_compiler(nvrtc().nvrtcGetCUBINSize(made, &bytes), "machine code is read");
  compiled.cubin.resize(bytes);
  check_compiler(nvrtc().nvrtcGetCUBIN(made, compiled.cubin.data()), "machine code is read");
  return compiled;
}

KernelResources resources_of(const Compiled& compiled) {
  return {.registers = largest_before(compiled.log, " registers"),
          .stack_bytes = largest_before(compiled.log, " bytes stack frame"),
          .spill_bytes = std::max(largest_before(compiled.log, " bytes spill stores"), largest_before(compiled.log, " bytes spill loads"))};
}

}  // namespace deepgap::cuda
