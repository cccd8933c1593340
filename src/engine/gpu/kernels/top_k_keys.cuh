// Statements that a kernel of TopK begins with; lower_top_k.cpp fills the placeholders. Keys have 64 bits and the least comes first: above
// stands what the number is, below where it is, so that the first of equal numbers comes first.
const long long row = blockIdx.x / PARTS, part = blockIdx.x % PARTS;
const long long begin = part * PART, end = begin + PART < COUNT ? begin + PART : COUNT;
let_next_begin();
wait_for_previous();
/*coordinates*/
const auto key_at = [&](long long k) -> unsigned long long {
  /*read*/
};
// Bitonic: `size` is a power of two, and all threads call it.
const auto sort = [](unsigned long long* keys, int count) {
  for (int size = 2; size <= count; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      for (int e = threadIdx.x; e < count / 2; e += THREADS) {
        const int i = 2 * e - (e & (step - 1)), j = i + step;
        const unsigned long long a = keys[i], b = keys[j];
        if ((a > b) == ((i & size) == 0)) keys[i] = b, keys[j] = a;
      }
      __syncthreads();
    }
};
