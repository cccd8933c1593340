// Loads and stores of words, copies to shared memory that are waited for, matrices for tensor cores, and clusters.
//
// N words that lie at an address aligned to as much as is loaded at once.
template <int N>
__device__ __forceinline__ void load_words(const void* from, unsigned* words) {
  if (N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
      uint4 w = ((const uint4*)from)[i];
      words[4 * i] = w.x;
      words[4 * i + 1] = w.y;
      words[4 * i + 2] = w.z;
      words[4 * i + 3] = w.w;
    }
  } else if (N % 2 == 0) {
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      uint2 w = ((const uint2*)from)[i];
      words[2 * i] = w.x;
      words[2 * i + 1] = w.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) words[i] = ((const unsigned*)from)[i];
  }
}
template <int N>
__device__ __forceinline__ void load_floats(const float* from, float (&v)[N]) {
  unsigned words[N];
  load_words<N>(from, words);
#pragma unroll
  for (int i = 0; i < N; i++) v[i] = __uint_as_float(words[i]);
}
template <int N>
__device__ __forceinline__ void store_words(void* to, const unsigned* words) {
  if (N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N / 4; i++) ((uint4*)to)[i] = make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
  } else if (N % 2 == 0) {
#pragma unroll
    for (int i = 0; i < N / 2; i++) ((uint2*)to)[i] = make_uint2(words[2 * i], words[2 * i + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) ((unsigned*)to)[i] = words[i];
  }
}
// One element, alone.
template <class T>
__device__ __forceinline__ float load_one(const void* from) {
  unsigned word;
  if (T::bytes == 4)
    word = *(const unsigned*)from;
  else if (T::bytes == 2)
    word = *(const unsigned short*)from;
  else
    word = *(const unsigned char*)from;
  return T::get(word, 0);
}
__device__ __forceinline__ unsigned shared_address(const void* p) {
  unsigned address;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(p));
  return address;
}
// 16 bytes to shared memory, or zeros where they are not valid; the address must be a proper one all the same.
__device__ __forceinline__ void cp_async16(unsigned to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
__device__ __forceinline__ void cp_async16(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until all but the N youngest groups are there.
template <int N>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void store_shared16(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
// Four matrices of 8 rows of 16 bytes; lane i gives the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Every thread of the cluster; writes before it are seen after it.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// The same place of shared memory in another block of the cluster.
__device__ __forceinline__ unsigned address_in_block(unsigned shared, unsigned rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}
__device__ __forceinline__ uint4 load_cluster16(unsigned address) {
  uint4 w;
  asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "r"(address) : "memory");
  return w;
}
#endif
