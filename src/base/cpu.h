// What a CPU shows of itself that libraries get wrong.
#pragma once

namespace deepgap {

// Some virtual machines show AMX and hide how large its tiles are (CPUID leaf 0x1D): kernels then configure no tile and end by SIGILL.
bool amx_tiles_are_hidden();

}  // namespace deepgap
