#include "engine/decoder/kernels.h"

#if defined(__x86_64__)
#define DEEPGAP_DECODER_TARGET [[gnu::target("avx2,fma,f16c")]]
#define DEEPGAP_DECODER_VNNI 0
#include "engine/decoder/vector_loops.h"

namespace deepgap {

const DecoderKernels avx2_decoder_kernels{"AVX2", quantize, multiply, attend, gate, to_halves};

}  // namespace deepgap
#endif
