#include "engine/decoder/kernels.h"

#if defined(__x86_64__)
#define DEEPGAP_DECODER_TARGET [[gnu::target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]]
#define DEEPGAP_DECODER_VNNI 1
#include "engine/decoder/vector_loops.h"

namespace deepgap {

const DecoderKernels vnni_decoder_kernels{"AVX-512 VNNI", quantize, multiply, attend, gate, to_halves};

}  // namespace deepgap
#endif
