// Statements of DynamicQuantizeLinear, whose placeholders lower_dynamic_quantize.cpp fills. The least and the largest of a block's part,
// with 0.
__shared__ float lows[256], highs[256];
float low = 0.0f, high = 0.0f;
for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < COUNT; i += STEP) {
  const float x = READ;
  low = fminf(low, x);
  high = fmaxf(high, x);
}
lows[threadIdx.x] = low;
highs[threadIdx.x] = high;
for (int step = 128; step > 0; step /= 2) {
  __syncthreads();
  if (threadIdx.x < step) {
    lows[threadIdx.x] = fminf(lows[threadIdx.x], lows[threadIdx.x + step]);
    highs[threadIdx.x] = fmaxf(highs[threadIdx.x], highs[threadIdx.x + step]);
  }
}
if (threadIdx.x == 0) {
  low = lows[0], high = highs[0];
  WRITE
}
