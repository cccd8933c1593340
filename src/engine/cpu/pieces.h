// Work of our own kernels in pieces: whichever thread is free takes the next one. Where another program holds a CPU, the threads on the
// others do the rest of the layer, and only the piece that was begun there is waited for.
#pragma once

#include <omp.h>

#include <atomic>
#include <cstdint>

namespace deepgap {

// Calls body(thread, piece) for each piece, on the calling thread's OpenMP team of at most `threads`.
template <typename Body>
void for_pieces(int64_t pieces, int threads, const Body& body) {
  if (pieces == 1 || threads == 1) {
    for (int64_t piece = 0; piece < pieces; ++piece) body(0, piece);
    return;
  }
  std::atomic<int64_t> next{0};
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    for (int64_t piece = next.fetch_add(1, std::memory_order_relaxed); piece < pieces; piece = next.fetch_add(1, std::memory_order_relaxed))
      body(thread, piece);
  }
}

}  // namespace deepgap
