#include "backends/common/hidden_amx.h"

#include "base/cpu.h"

#include <stdlib.h>

namespace deepgap {

void keep_off_hidden_amx() {
  if (amx_tiles_are_hidden()) ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", 0);
}

}  // namespace deepgap
