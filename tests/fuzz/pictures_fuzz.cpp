// JPEG and PNG, decoded, resized and made a network's input.
#include "dataset/picture.h"
#include "dataset/preprocess.h"
#include "fuzz.h"
#include "png_crc.h"

#include <span>
#include <vector>

using namespace deepgap;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 != 0) fuzz::set_png_crcs({data, mutated});
  return mutated;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("pictures decoded");
  share.count(fuzz::accepts([&] {
    const Picture picture = decode_picture("fuzz", std::as_bytes(std::span(data, size)));
    // Large ones are honest work.
    if (picture.rgb.size() > (size_t{1} << 20)) return;
    resize_bicubic(picture, 7, 5);
    Preprocessing how;
    how.resize = 12;
    how.crop = 8;
    std::vector<float> values(static_cast<size_t>(3 * how.crop * how.crop));
    preprocess(picture, how, values);
  }));
  return 0;
}
