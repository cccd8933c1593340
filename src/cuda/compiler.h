// NVRTC, NVIDIA's compiler as a library: CUDA C++ text to machine code. Found at run time, as the driver is; needs no GPU and no driver.
//
// Looked for in this order: $DEEPGAP_NVRTC (a library), below an installed torch or the wheel nvidia-cuda-nvrtc in a .venv above this
// program's plug-ins, a toolkit in $CUDA_HOME or /usr/local/cuda, the dynamic linker's paths.
#pragma once

#include <string>

namespace deepgap::cuda {

struct Compiled {
  std::string cubin;
  std::string log;  // what the compiler and the assembler said: registers, spills
};

// "NVRTC 13.0, PATH". Opened once a process; throws Error{refused} saying where it was looked for.
std::string compiler_description();
bool has_compiler();

// `architecture` as in "sm_90a". The text includes nothing: no header is there. Throws Error{internal} with what the compiler says first.
// Any thread.
Compiled compile(const std::string& text, const std::string& architecture);

}  // namespace deepgap::cuda
