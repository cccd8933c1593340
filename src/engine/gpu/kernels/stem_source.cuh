// Brings rows of the image to shared memory for the kernels of first convolutions (stem.cuh, pooled_stem.cuh).
static const int piece_bytes = piece * pixel_bytes, row_pieces = row_bytes / piece_bytes;
static const unsigned outside = (source_zero & 255) * 0x01010101u;

// The `source_rows` rows from `top` on of image `image`, what lies outside of it as well.
__device__ __forceinline__ void fetch(unsigned to, const unsigned char* source, int image, int top) {
  for (int i = threadIdx.x; i < source_rows * row_pieces; i += teams * 128) {
    const int row = i / row_pieces, x = i % row_pieces * piece - origin, y = top + row;
    const unsigned place = to + row * row_bytes + i % row_pieces * piece_bytes;
    if ((unsigned)y < (unsigned)in_h && (unsigned)x < (unsigned)in_w)
      copy_piece<piece_bytes>(place, source + (((long long)image * in_h + y) * in_w + x) * (in_pitch * Source::bytes));
    else
#pragma unroll
      for (int b = 0; b < piece_bytes; b += 4) store_word(place + b, outside);
  }
}
