// Reads the options of a zoo name such as "resnet50:width=0.5,classes=10". Used by the families; throws Error{usage}.
#pragma once

#include "model/gguf/weight_type.h"
#include "model/zoo/zoo.h"

#include <cstdint>
#include <string>

namespace deepgap {

// The options of every image network: `width` multiplies the channels (0.05 to 8), `classes` (1 to 100000), `image` is the side of the
// input (32 to 4096). `dropout` (0 to 0.99) is known to those that have one. Anything else is refused by name.
struct PictureOptions {
  double width = 1.0;
  int64_t classes = 1000;
  int64_t image = 224;
  double dropout = -1;  // share that is dropped; 0: there is none in the Graph; -1: the network has no place for one
};
// `preset`: what holds where an option is left out.
PictureOptions picture_options(const std::string& model, const ZooOptions& options, const PictureOptions& preset = {});

// The options of text networks: `sequence` (1 to `longest` tokens), `width`, which multiplies the heads of attention, and `dropout`.
struct TextOptions {
  double width = 1.0;
  int64_t sequence = 128;
  double dropout = -1;  // as of pictures
};
TextOptions text_options(const std::string& model, const ZooOptions& options, const TextOptions& preset, int64_t longest);

// The options of decoders: `layers`, `vocabulary`, and `type`, in which their matrices are held: f32, f16, bf16, q8_0, q4_0 or q4_1.
struct DecoderOptions {
  int64_t layers = 1;
  int64_t vocabulary = 1;
  WeightType type = WeightType::f32;
};
DecoderOptions decoder_options(const std::string& model, const ZooOptions& options, const DecoderOptions& preset);

// Throw Error{usage} unless `text` is a number, or a whole one, from `low` to `high`.
int64_t int_option(const std::string& model, const std::string& key, const std::string& text, int64_t low, int64_t high);
double number_option(const std::string& model, const std::string& key, const std::string& text, double low, double high);

// `value` rounded to the nearest multiple of `divisor`, never more than 10 % below it: how width-changed networks are built.
int64_t make_divisible(double value, int64_t divisor = 8);

}  // namespace deepgap
