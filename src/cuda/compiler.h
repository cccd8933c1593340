// NVRTC, NVIDIA's compiler as a library: CUDA C++ text to machine code. Found at run time, as the driver is; needs no GPU and no driver.
//
// Looked for in this order: $DEEPGAP_NVRTC (a library), beside the CUDA runtime that an engine has loaded, beside the torch of
// $DEEPGAP_LIBTORCH or of deepgap's own libraries, a toolkit in $CUDA_HOME or /usr/local/cuda, the dynamic linker's paths.
#pragma once

#include <string>

namespace deepgap::cuda {

struct Compiled {
  std::string cubin;
  std::string log;  // output of the compiler and the assembler: registers, spills
};

// Resources that a kernel takes, as the assembler's log states them; the largest numbers of all kernels in it.
struct KernelResources {
  int registers = 0;
  int stack_bytes = 0, spill_bytes = 0;  // bytes of memory per thread
};
KernelResources resources_of(const Compiled& compiled);

// Returns "NVRTC 13.0, PATH". Opens it once a process; throws Error{refused} that lists where it looked.
std::string compiler_description();
bool has_compiler();

// `architecture` as in "sm_90a". The text includes nothing: no header is there. Throws Error{internal} with what the compiler says first.
// Any thread.
Compiled compile(const std::string& text, const std::string& architecture);

}  // namespace deepgap::cuda
