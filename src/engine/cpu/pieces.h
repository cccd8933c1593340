// Work of our own kernels in pieces. Each thread begins with its own share of them, which lie beside each other, so that what it wrote in
// one layer is in its cache when it reads it in the next. A thread that is done takes pieces of the others: where another program holds a
// CPU, the threads on the others do the rest of the layer, and only the piece that was begun there is waited for.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace deepgap {

inline constexpr int most_shares = 64;  // threads beyond have none of their own

// Calls body(thread, piece) for each piece, on the calling thread's OpenMP team of at most `threads`.
template <typename Body>
void for_pieces(int64_t pieces, int threads, const Body& body) {
  if (pieces == 1 || threads == 1) {
    for (int64_t piece = 0; piece < pieces; ++piece) body(0, piece);
    return;
  }
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };
  std::array<Share, most_shares> shares;
  const int count = threads < most_shares ? threads : most_shares;
  for (int i = 0; i < count; ++i) {
    shares[static_cast<size_t>(i)].next.store(pieces * i / count, std::memory_order_relaxed);
    shares[static_cast<size_t>(i)].end = pieces * (i + 1) / count;
  }
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    for (int i = 0; i < count; ++i) {
      Share& share = shares[static_cast<size_t>((thread + i) % count)];
      for (int64_t piece = share.next.fetch_add(1, std::memory_order_relaxed); piece < share.end;
           piece = share.next.fetch_add(1, std::memory_order_relaxed))
        body(thread, piece);
    }
  }
}

// Returns into how many stretches to cut `all`: as many as `wanted`, while each has `least` or more, and at least as many as `needed`.
inline int64_t stretches_of(int64_t all, int64_t least, int64_t wanted, int64_t needed) {
  return std::min(all, std::max({std::min(wanted, all / least), needed, int64_t{1}}));
}

}  // namespace deepgap
