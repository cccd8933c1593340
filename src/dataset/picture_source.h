// PictureSource: the stages from a picture's file to a network's input, one by one, for whoever takes them query by query and times each
// (worker/picture_preparer.h). The Datasets of pictures are PictureSources besides; their load() takes all stages at once, untimed, with
// the same result.
#pragma once

#include "dataset/picture.h"

#include <deepgap/dataset.h>

#include <cstdint>
#include <span>
#include <string>

namespace deepgap {

// Thread-safe.
class PictureSource {
 public:
  virtual ~PictureSource() = default;
  virtual const std::string& path(uint32_t index) const = 0;  // path of the file that holds sample `index`
  // Makes the sample's input from that file's pixels: cut out, resized, cropped, scaled. `values` has as many elements as the input.
  virtual void fill(uint32_t index, const Picture& decoded, std::span<float> values) const = 0;
};

// The Dataset itself, or nullptr where its samples are not made from pictures.
inline const PictureSource* picture_source(const Dataset& dataset) { return dynamic_cast<const PictureSource*>(&dataset); }

}  // namespace deepgap
