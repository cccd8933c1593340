// OpenVINO on virtual machines that hide AMX's tiles (base/cpu.h): its process would end by SIGILL. It is kept to AVX-512 there.
#pragma once

namespace deepgap {

// Where they are hidden: sets ONEDNN_MAX_CPU_ISA, unless the user did. Before the library's kernels look at the CPU, which they do once.
void keep_off_hidden_amx();

}  // namespace deepgap
