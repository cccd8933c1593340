// A row that is too long for registers: v[j] is read where it is used, and written where it is set.
template <typename Read, typename Write>
struct RowElement {
  const Read& read;
  const Write& write;
  int j;
  __device__ __forceinline__ operator float() const { return read(j); }
  __device__ __forceinline__ void operator=(float x) const { write(j, x); }
};
template <typename Read, typename Write>
struct Row {
  Read read;
  Write write;
  __device__ __forceinline__ RowElement<Read, Write> operator[](int j) const { return {read, write, j}; }
};
template <typename Read, typename Write>
__device__ __forceinline__ Row<Read, Write> row_of(Read read, Write write) {
  return {read, write};
}
