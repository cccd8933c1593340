// Pictures: decoding PNG (libspng) and JPEG (libturbojpeg) to RGB, and resizing exactly as Pillow's bicubic does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// 8-bit RGB, row-major, no padding.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;
};

bool is_picture_name(const std::string& path);  // ends in .png, .jpg, .jpeg

// Chooses the decoder by the first bytes, not the name. Grey becomes RGB, alpha is dropped, 16 bits become 8. Throws Error{input} naming
// the file: not a picture, damaged, more than 100 megapixels, or a JPEG of very many scans. `path` names the file that holds the bytes.
Picture decode_picture(const std::string& path, std::span<const std::byte> bytes);
Picture decode_picture(const std::string& path);  // reads it

// Bicubic (a = -0.5) with the kernel widened when shrinking, 8-bit between the passes and 22-bit fixed-point weights: Pillow's
// Image.resize(..., BICUBIC), so results can be compared with the Python pipelines networks were trained with.
Picture resize_bicubic(const Picture& picture, int width, int height);

}  // namespace deepgap
