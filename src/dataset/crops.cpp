// Crops: many samples out of few pictures, for accuracy. Sample i is a square out of picture i mod P, its side 0.35 to 1.0 of the picture's
// short side, side and place drawn from the seed (Philox, stream "crops", block i), resized to the network's input by the pictures' own
// bicubic. The same seed gives the same crops on every machine.
#include "base/text.h"
#include "dataset/picture_input.h"
#include "dataset/picture_source.h"
#include "dataset/preprocess.h"
#include "dataset/tensors_dataset.h"
#include "stats/philox.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

namespace deepgap {
namespace {

constexpr double smallest_side = 0.35;
constexpr size_t most_crops = 1'000'000;

struct Settings {
  uint64_t seed = 1;
  size_t count = 64;
};

// Parses the settings from "crops:seed=7,count=1000".
Settings settings_of(const DatasetRequest& request) {
  Settings settings{request.seed, request.size};
  const size_t colon = request.name.find(':');
  if (colon == std::string::npos) return settings;
  for (const std::string& part : split(request.name.substr(colon + 1), ',')) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(0, equals), text = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (name != "seed" && name != "count") throw Error(ErrorKind::usage, unknown_name("option of crops", name, {"seed", "count"}));
    const auto value = parse_int(text);
    const int64_t least = name == "seed" ? 0 : 1;
    if (!value || *value < least || (name == "count" && *value > static_cast<int64_t>(most_crops)))
      throw Error(ErrorKind::usage, fmt::format("crops: {}='{}' is not a whole number from {}", name, text, least));
    if (name == "seed") settings.seed = static_cast<uint64_t>(*value);
    if (name == "count") settings.count = static_cast<size_t>(*value);
  }
  return settings;
}

Picture cut_out(const Picture& picture, int left, int top, int side) {
  Picture part{side, side, std::vector<uint8_t>(static_cast<size_t>(3) * side * side)};
  for (int y = 0; y < side; ++y) {
    const uint8_t* from = picture.rgb.data() + 3 * (static_cast<size_t>(top + y) * picture.width + left);
    std::copy_n(from, static_cast<size_t>(3) * side, part.rgb.data() + static_cast<size_t>(3) * side * y);
  }
  return part;
}

class CropsDataset : public TensorsDataset, public PictureSource {
 public:
  CropsDataset(const DatasetRequest& request, std::vector<std::string> paths)
      : paths_(std::move(paths)), settings_(settings_of(request)), how_(request.preprocessing), shape_(picture_input_shape(request, how_)) {
    how_.resize = how_.crop;
  }

  std::string describe() const override {
    return fmt::format("crops of {} images, seed {}, sides {:g} to 1 of the short side, resized to {}, {}", paths_.size(), settings_.seed,
                       smallest_side, how_.crop, normalizing_text(how_));
  }
  size_t size() const override { return settings_.count; }
  std::string sample_name(uint32_t index) const override {
    return fmt::format("{} #{}", std::filesystem::path(path(index)).filename().string(), index);
  }
  const std::string& path(uint32_t index) const override { return paths_[index % paths_.size()]; }
  void fill(uint32_t index, const Picture& picture, std::span<float> values) const override;

 protected:
  std::vector<Tensor> make(uint32_t index) override {
    Tensor tensor = make_tensor(DataType::f32, shape_);
    fill(index, picture_of(index), writable<float>(tensor));
    return {tensor};
  }

 private:
  // Decoded once: a thousand crops come from half a dozen files.
  const Picture& picture_of(uint32_t index) {
    const auto found = decoded_.find(path(index));
    return found != decoded_.end() ? found->second : decoded_.emplace(path(index), decode_picture(path(index))).first->second;
  }

  std::vector<std::string> paths_;
  Settings settings_;
  Preprocessing how_;
  Shape shape_;
  std::map<std::string, Picture> decoded_;
};

void CropsDataset::fill(uint32_t index, const Picture& picture, std::span<float> values) const {
  const PhiloxCounter draw = philox_block(settings_.seed, stream_of("crops"), index);
  const int shorter = std::min(picture.width, picture.height);
  const double share = smallest_side + (1 - smallest_side) * to_unit(draw[0]);
  const int side = std::clamp(static_cast<int>(std::lround(share * shorter)), 1, shorter);
  const auto place = [&](uint32_t word, int length) { return static_cast<int>(to_unit(word) * (length - side + 1)); };
  preprocess(cut_out(picture, place(draw[1], picture.width), place(draw[2], picture.height), side), how_, values);
}

}  // namespace

std::unique_ptr<TensorsDataset> make_crops_dataset(const DatasetRequest& request, std::vector<std::string> paths) {
  return std::make_unique<CropsDataset>(request, std::move(paths));
}

}  // namespace deepgap
