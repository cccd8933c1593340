#include "model/zoo/zoo.h"

#include "base/registry.h"
#include "base/text.h"
#include "model/model_source.h"

#include <fmt/format.h>

namespace deepgap {

std::vector<std::string> zoo_names() { return Registry<ZooModel>::instance().names(); }

std::unique_ptr<ZooModel> find_zoo_model(const std::string& name, ZooOptions& options) {
  options.clear();
  const size_t colon = name.find(':');
  const std::string base = name.substr(0, colon);
  if (!Registry<ZooModel>::instance().contains(base)) return nullptr;
  if (colon != std::string::npos) {
    for (const std::string& part : split(std::string_view(name).substr(colon + 1), ',')) {
      const size_t equals = part.find('=');
      const std::string key = trim(part.substr(0, equals));
      if (equals == std::string::npos || key.empty())
        throw Error(ErrorKind::usage, fmt::format("model '{}': '{}' is not an option, write {}:key=value,key=value", name, part, base));
      if (!options.emplace(key, trim(part.substr(equals + 1))).second)
        throw Error(ErrorKind::usage, fmt::format("model '{}': option '{}' is given twice", name, key));
    }
  }
  return Registry<ZooModel>::instance().make("model", base);
}

bool is_chaotic(const std::string& model_name, const std::string& weights) {
  if (weights != "seeded" || is_model_file(model_name)) return false;
  ZooOptions options;
  const auto model = find_zoo_model(model_name, options);
  return model != nullptr && model->is_chaotic();
}

Preprocessing preprocessing_for(const std::string& model_name) {
  ZooOptions options;
  const auto model = find_zoo_model(model_name, options);
  if (!model) return {};
  Preprocessing result = model->preprocessing();
  // A changed picture size keeps the proportion of the crop.
  if (const auto image = options.find("image"); image != options.end()) {
    const auto side = parse_int(image->second);
    if (side && *side > 0 && *side <= 4096) {
      result.resize = static_cast<int>((*side * result.resize + result.crop / 2) / result.crop);
      result.crop = static_cast<int>(*side);
    }
  }
  return result;
}

}  // namespace deepgap
