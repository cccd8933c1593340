// OpenVINO on virtual machines that hide AMX's tiles (base/cpu.h): its process would end by SIGILL. It is kept to AVX-512 there.
#pragma once

namespace deepgap {

// Sets ONEDNN_MAX_CPU_ISA if AMX is hidden, unless the user did. Call it before the library's kernels look at the CPU, once.
void keep_off_hidden_amx();

}  // namespace deepgap
