// OpenVINO on virtual machines that show AMX and hide how large its tiles are (CPUID leaf 0x1D): its kernels then configure no tile and the
// process ends by SIGILL. It is kept to AVX-512 there.
#pragma once

namespace deepgap {

bool amx_tiles_are_hidden();
// Where they are: sets ONEDNN_MAX_CPU_ISA, unless the user did. Before the library's kernels look at the CPU, which they do once.
void keep_off_hidden_amx();

}  // namespace deepgap
