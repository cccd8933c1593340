// The best of each thread's keys are sorted first. WANTED threads have a key as good as the limit that follows, so only their keys,
// CANDIDATES at most, can be among the best of the part.
__shared__ unsigned long long least[THREADS], keys[CANDIDATES];
__shared__ int found;
unsigned long long mine = ~0ull;
#pragma unroll 8
for (long long k = begin + threadIdx.x; k < end; k += THREADS) {
  const unsigned long long key = key_at(k);
  if (key < mine) mine = key;
}
least[threadIdx.x] = mine;
if (threadIdx.x == 0) found = 0;
for (int e = threadIdx.x; e < CANDIDATES; e += THREADS) keys[e] = ~0ull;
__syncthreads();
sort(least, THREADS);
const unsigned long long limit = least[WANTED - 1];
if (mine <= limit)
  for (long long k = begin + threadIdx.x; k < end; k += THREADS) {
    const unsigned long long key = key_at(k);
    if (key <= limit && key != ~0ull) keys[atomicAdd(&found, 1)] = key;
  }
__syncthreads();
int count = 1;
while (count < found) count *= 2;
sort(keys, count);
for (int e = threadIdx.x; e < WANTED; e += THREADS) {
  /*write*/
}
