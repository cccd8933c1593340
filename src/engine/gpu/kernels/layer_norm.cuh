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

extern "C" __global__ void __launch_bounds__(128) ENTRY(const T* x, const float* scale, const float* bias, R* out) {
  let_next_begin();
  const I index = I(blockIdx.x) * 4 + threadIdx.x / 32;
  const bool there = index < ROWS;
  const I row = there ? index : 0;
  const int lane = threadIdx.x % 32;
  float v[E][V];
  float sum = 0;
  wait_for_previous();
#pragma unroll
  for (int e = 0; e < E; ++e) {
    alignas(16) T w[V] = {};
    const int at = (lane + 32 * e) * V;
    if (at < COUNT) *(uint4*)w = *(const uint4*)(x + row * COUNT + at);
#pragma unroll
    for (int i = 0; i < V; ++i) sum += v[e][i] = GET(w[i]);
  }
  const float mean = over_warp(sum) / COUNT;
  float squares = 0;
#pragma unroll
  for (int e = 0; e < E; ++e)
#pragma unroll
    for (int i = 0; i < V; ++i) {
      v[e][i] -= mean;
      if ((lane + 32 * e) * V < COUNT) squares += v[e][i] * v[e][i];
    }
  const float inverse = 1.0f / sqrtf(over_warp(squares) / COUNT + EPSILON);
#pragma unroll
  for (int e = 0; e < E; ++e) {
    const int at = (lane + 32 * e) * V;
    if (at >= COUNT || !there) continue;
    alignas(16) R w[V];
    alignas(16) float s[V], b[V];
#pragma unroll
    for (int i = 0; i < V; i += 4) {
      *(uint4*)(s + i) = *(const uint4*)(scale + at + i);
      *(uint4*)(b + i) = *(const uint4*)(bias + at + i);
    }
#pragma unroll
    for (int i = 0; i < V; ++i) w[i] = PUT(v[e][i] * inverse * s[i] + b[i]);
    put(out + row * COUNT + at, w);
  }
}
