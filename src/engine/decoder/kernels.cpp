#include "engine/decoder/kernels.h"

#include "engine/cpu/isa.h"

#include <algorithm>

namespace deepgap {

std::vector<const DecoderKernels*> all_decoder_kernels() {
  std::vector<const DecoderKernels*> all{&plain_decoder_kernels};
#if defined(__x86_64__)
  const std::vector<std::string> isas = available_isas();
  const auto has = [&](const char* name) { return std::find(isas.begin(), isas.end(), name) != isas.end(); };
  if (has("avx2") && __builtin_cpu_supports("f16c") != 0) all.push_back(&avx2_decoder_kernels);
  if (has("avx512_vnni")) all.push_back(&vnni_decoder_kernels);
#endif
  return all;
}

const DecoderKernels& decoder_kernels() {
#if defined(__x86_64__)
  if (uses_vnni()) return vnni_decoder_kernels;
  if (uses_avx2() && __builtin_cpu_supports("f16c") != 0) return avx2_decoder_kernels;
#endif
  return plain_decoder_kernels;
}

}  // namespace deepgap
