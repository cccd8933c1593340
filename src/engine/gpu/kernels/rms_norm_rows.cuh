// Statements of a row kernel (rows.h): RMSNormalization.
float s = 0;
#pragma unroll
for (int j = 0; j < E; ++j)
  if (valid(j)) s += v[j] * v[j];
const float inverse = INVERSE;
#pragma unroll
for (int j = 0; j < E; ++j)
  if (valid(j)) {
    ROW_PLACE(threadIdx.x + j * T) v[j] = v[j] * inverse SCALED;
  }
