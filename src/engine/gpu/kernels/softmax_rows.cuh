// Statements of a row kernel (rows.h): Softmax and LogSoftmax, which differ in RESULT.
float m = __int_as_float(0xff800000);
#pragma unroll
for (int j = 0; j < E; ++j)
  if (valid(j)) m = fmaxf(m, v[j]);
m = block_max(m);
float s = 0;
#pragma unroll
for (int j = 0; j < E; ++j)
  if (valid(j)) s += expf(v[j] - m);
s = block_sum(s);
#pragma unroll
for (int j = 0; j < E; ++j) v[j] = RESULT;
