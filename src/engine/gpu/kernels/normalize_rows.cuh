// Statements of a row kernel (rows.h): the normalizations by mean and variance, which take two passes over the registers.
float mean = 0;
#pragma unroll
for (int j = 0; j < E; ++j) mean += v[j];
mean = block_sum(mean) / count;
float variance = 0;
#pragma unroll
for (int j = 0; j < E; ++j)
  if (valid(j)) variance += (v[j] - mean) * (v[j] - mean);
variance = block_sum(variance) / count;
const float inverse = INVERSE;
#pragma unroll
for (int j = 0; j < E; ++j)
  if (valid(j)) {
    ROW_PLACE(threadIdx.x + j * T) v[j] = (v[j] - mean) * inverse SCALED;
  }
