// The zoo: networks built in code, as their reference implementations build them. One file per family adds ZooModels by registrar.
#pragma once

#include <deepgap/graph.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Turns an image into the input: short side to `resize` by bicubic, centre crop, then (value - mean) / scale on 0..255 RGB, NCHW.
struct Preprocessing {
  int resize = 256;
  int crop = 224;
  std::array<float, 3> mean{123.675f, 116.28f, 103.53f};
  std::array<float, 3> scale{58.395f, 57.12f, 57.375f};
};

// `options` of a name such as "resnet50:width=0.5,classes=10,image=160". Every family of pictures knows `width` (factor on channels),
// `classes` and `image` (side of the input), those that train with Dropout `dropout`; see options.h.
using ZooOptions = std::map<std::string, std::string>;

class ZooModel {
 public:
  virtual ~ZooModel() = default;
  virtual std::string name() const = 0;
  virtual std::string describe() const = 0;  // with the source that it follows
  virtual Preprocessing preprocessing() const { return {}; }
  // Named weight sets besides "seeded": name -> file under data_dir (safetensors, names as the Graph's constants).
  virtual std::map<std::string, std::string> weight_sets() const { return {}; }
  // With seeded weights a small error grows from layer to layer until outputs say nothing about the engine, so each node is checked.
  virtual bool is_chaotic() const { return false; }
  // Share that the Dropout of its training form drops, which is its option `dropout`; 0: its source has none.
  virtual double trained_dropout() const { return 0; }
  // Constants have type and shape and no data; seed_weights or a safetensors file fills them. Throws Error{usage} for wrong options.
  virtual Graph build(const ZooOptions& options) const = 0;
};

std::vector<std::string> zoo_names();
// Splits "name:key=value,..."; nullptr when there is no such name.
std::unique_ptr<ZooModel> find_zoo_model(const std::string& name, ZooOptions& options);
// Returns ZooModel::is_chaotic() for a seeded network of the zoo, else false. Throws Error{usage} as find_zoo_model does.
bool is_chaotic(const std::string& model_name, const std::string& weights);
Preprocessing preprocessing_for(const std::string& model_name);  // the zoo's, or the default for files

}  // namespace deepgap
