// Statements of a row kernel (rows.h): LpNormalization, of p = 1 or 2 by TERM and ENDED.
float s = 0;
#pragma unroll
for (int j = 0; j < E; ++j)
  if (valid(j)) s += TERM;
s = block_sum(s);
s = ENDED;
#pragma unroll
for (int j = 0; j < E; ++j) v[j] = s == 0 ? 0 : v[j] / s;
