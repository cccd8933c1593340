// Statements of NonMaxSuppression, whose placeholders lower_region.cpp fills. A block for each class of each image: the best box that is
// left is kept, and those that overlap it are struck out.
__shared__ float best_score[THREADS];
__shared__ int best_box[THREADS];
const long long item = blockIdx.x, c0 = item / CLASSES, c1 = item % CLASSES;
const float nothing = __int_as_float(0xff800000);
float* mine = left + item * BOXES;
long long* rows = kept + item * MOST * 3;
struct Box {
  float left, top, right, bottom;
};
const auto box_of = [&](long long k) -> Box {
  const float a = COORDINATE(0), b = COORDINATE(1), c = COORDINATE(2), d = COORDINATE(3);
  if (CENTRE) return Box{a - c / 2, b - d / 2, a + c / 2, b + d / 2};
  return Box{fminf(b, d), fminf(a, c), fmaxf(b, d), fmaxf(a, c)};
};
let_next_begin();
wait_for_previous();
for (long long k = threadIdx.x; k < BOXES; k += THREADS) {
  const float score = SCORE;
  mine[k] = score > LEAST ? score : nothing;
}
Box chosen = {0.0f, 0.0f, 0.0f, 0.0f};
int last = -1, count = 0;
for (; count < MOST; ++count) {
  const float area = (chosen.right - chosen.left) * (chosen.bottom - chosen.top);
  float score = nothing;
  int best = -1;
  for (long long k = threadIdx.x; k < BOXES; k += THREADS) {
    const float own = mine[k];
    if (own == nothing) continue;
    bool struck = k == last;
    if (last >= 0 && !struck) {
      const Box box = box_of(k);
      const float width = fminf(box.right, chosen.right) - fmaxf(box.left, chosen.left);
      const float height = fminf(box.bottom, chosen.bottom) - fmaxf(box.top, chosen.top);
      const float other = (box.right - box.left) * (box.bottom - box.top);
      if (width > 0 && height > 0 && area > 0 && other > 0) {
        const float both = width * height, all = other + area - both;
        struck = all > 0 && both / all > OVERLAP;
      }
    }
    if (struck)
      mine[k] = nothing;
    else if (best < 0 || own > score)
      score = own, best = (int)k;
  }
  best_score[threadIdx.x] = score;
  best_box[threadIdx.x] = best;
  for (int step = THREADS / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) {
      const float other = best_score[threadIdx.x + step];
      const int box = best_box[threadIdx.x + step], mine_box = best_box[threadIdx.x];
      const float mine_score = best_score[threadIdx.x];
      if (box >= 0 && (mine_box < 0 || other > mine_score || (other == mine_score && box < mine_box))) {
        best_score[threadIdx.x] = other;
        best_box[threadIdx.x] = box;
      }
    }
  }
  __syncthreads();
  last = best_box[0];
  __syncthreads();
  if (last < 0) break;
  chosen = box_of(last);
  if (threadIdx.x == 0) rows[3 * count] = c0, rows[3 * count + 1] = c1, rows[3 * count + 2] = last;
}
for (long long e = 3 * count + threadIdx.x; e < 3 * MOST; e += THREADS) rows[e] = -1;
