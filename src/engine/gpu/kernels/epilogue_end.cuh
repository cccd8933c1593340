// The end of every epilogue, after end_value and put_values.
__device__ __forceinline__ float ended_value(float sum, float scale, float bias, float residual) {
  return end_value(sum, table_scale(scale), table_bias(bias), residual);
}
__device__ __forceinline__ float ended(Sum sum, float scale, float bias, float residual) {
  return ended_value(value_of(sum), scale, bias, residual);
}
template <int N>
__device__ __forceinline__ void put_target(void* to, const float (&v)[N]) {
  unsigned words[(N * Target::bytes + 3) / 4];
  put_values(words, v);
  if (N * Target::bytes >= 4)
    store_words<(N * Target::bytes + 3) / 4>(to, words);
  else if (N * Target::bytes == 2)
    *(unsigned short*)to = words[0];
  else
    *(unsigned char*)to = words[0];
}
