// Text before this: generated_prelude() and what lower_layer_norm.cpp writes of types, sizes, GET, PUT and ENTRY.
__device__ __forceinline__ float over_warp(float x) {
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

__device__ __forceinline__ void put(R* to, const R (&w)[V]) {
  if (sizeof(w) == 16)
    *(uint4*)to = *(const uint4*)w;
  else
    *(uint2*)to = *(const uint2*)w;
}

struct Row {
  uint4 words[E];
  __device__ __forceinline__ void load(const T* x, I row, int lane) {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const int at = (lane + 32 * e) * V;
      words[e] = at < COUNT && row < ROWS ? *(const uint4*)(x + row * COUNT + at) : uint4();
    }
  }
};

struct Parameters {
  alignas(16) float scale[E][V], bias[E][V];
  __device__ __forceinline__ void load(const float* scales, const float* biases, int lane) {
#pragma unroll
    for (int e = 0; e < E; ++e)
#pragma unroll
      for (int i = 0; i < V; i += 4) {
        const int at = (lane + 32 * e) * V + i;
        *(uint4*)(scale[e] + i) = at < COUNT ? *(const uint4*)(scales + at) : uint4();
        *(uint4*)(bias[e] + i) = at < COUNT ? *(const uint4*)(biases + at) : uint4();
      }
  }
};

// Scale and bias have four times the bytes of a row of halves. Where a warp has registers for them it keeps them for all its rows; they are
// constants, so it reads them while the kernel before still works. The next row comes while this one is computed.
extern "C" __global__ void __launch_bounds__(128) ENTRY(const T* x, const float* scale, const float* bias, R* out) {
  let_next_begin();
  const int lane = threadIdx.x % 32;
  Parameters parameters;
  if (KEPT) parameters.load(scale, bias, lane);
  wait_for_previous();
  I row = I(blockIdx.x) * 4 + threadIdx.x / 32;
  Row coming;
  coming.load(x, row, lane);
#pragma unroll 1
  for (; row < ROWS; row += I(gridDim.x) * 4) {
    const Row here = coming;
    coming.load(x, row + I(gridDim.x) * 4, lane);
    float v[E][V];
    float sum = 0;
#pragma unroll
    for (int e = 0; e < E; ++e)
#pragma unroll
      for (int i = 0; i < V; ++i) sum += v[e][i] = GET(((const T*)&here.words[e])[i]);
    const float mean = over_warp(sum) / COUNT;
    float squares = 0;
#pragma unroll
    for (int e = 0; e < E; ++e)
#pragma unroll
      for (int i = 0; i < V; ++i) {
        v[e][i] -= mean;
        if ((lane + 32 * e) * V < COUNT) squares += v[e][i] * v[e][i];
      }
    if (!KEPT) parameters.load(scale, bias, lane);
    const float inverse = 1.0f / sqrtf(over_warp(squares) / COUNT + EPSILON);
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const int at = (lane + 32 * e) * V;
      if (at >= COUNT) continue;
      alignas(16) R w[V];
#pragma unroll
      for (int i = 0; i < V; ++i) w[i] = PUT(v[e][i] * inverse * parameters.scale[e][i] + parameters.bias[e][i]);
      put(out + row * COUNT + at, w);
    }
  }
}
