// The whole part is sorted.
__shared__ unsigned long long keys[PART];
for (int e = threadIdx.x; e < PART; e += THREADS) keys[e] = begin + e < end ? key_at(begin + e) : ~0ull;
__syncthreads();
sort(keys, PART);
for (int e = threadIdx.x; e < WANTED; e += THREADS) {
  /*write*/
}
