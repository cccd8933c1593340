// Statements of TopK, whose placeholders lower_top_k.cpp fills. Keys of 64 bits, the least first: above what the number is, below where it
// is, so that the first of equal ones comes first.
__shared__ unsigned long long keys[PART];
const long long row = blockIdx.x / PARTS, part = blockIdx.x % PARTS;
let_next_begin();
wait_for_previous();
/*coordinates*/
for (int e = threadIdx.x; e < PART; e += THREADS) {
  const long long k = part * PART + e;
  keys[e] = ~0ull;
  if (k < COUNT) {
    /*read*/
  }
}
__syncthreads();
for (int size = 2; size <= PART; size *= 2)
  for (int step = size / 2; step > 0; step /= 2) {
    for (int e = threadIdx.x; e < PART / 2; e += THREADS) {
      const int i = 2 * e - (e & (step - 1)), j = i + step;
      const unsigned long long a = keys[i], b = keys[j];
      if ((a > b) == ((i & size) == 0)) keys[i] = b, keys[j] = a;
    }
    __syncthreads();
  }
for (int e = threadIdx.x; e < WANTED; e += THREADS) {
  /*write*/
}
