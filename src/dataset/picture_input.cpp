#include "dataset/picture_input.h"

#include "dataset/tensors_dataset.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {

Shape picture_input_shape(const DatasetRequest& request, Preprocessing& how) {
  if (request.inputs.size() != 1 || request.inputs[0].type != DataType::f32) {
    throw Error(ErrorKind::usage, "images need a model with one float32 input");
  }
  Shape shape = sample_shapes(request.inputs).front();
  if (shape.size() != 4 || shape[1] != 3 || shape[2] != shape[3] || shape[2] <= 0) {
    throw Error(ErrorKind::usage, fmt::format("images need an input of shape [N,3,size,size], but input '{}' has {}",
                                              request.inputs[0].name, shape_text(shape)));
  }
  if (shape[2] != how.crop) {
    how.resize = static_cast<int>(shape[2] * how.resize / how.crop);
    how.crop = static_cast<int>(shape[2]);
  }
  return shape;
}

std::string normalizing_text(const Preprocessing& how) {
  return fmt::format("(value - [{:g}, {:g}, {:g}]) / [{:g}, {:g}, {:g}]", how.mean[0], how.mean[1], how.mean[2], how.scale[0], how.scale[1],
                     how.scale[2]);
}

}  // namespace deepgap
