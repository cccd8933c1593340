#include "base/folder_kind.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_entries = 1000, most_named = 3;

struct Names {
  std::vector<std::string> all;

  bool have(std::string_view name) const { return std::find(all.begin(), all.end(), name) != all.end(); }
  std::vector<std::string> with_ending(std::string_view ending) const {
    std::vector<std::string> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const std::string& name) { return name.ends_with(ending); });
    return found;
  }
  bool have_both(std::string_view ending, std::string_view other) const {
    return !with_ending(ending).empty() && !with_ending(other).empty();
  }
};

Names names_in(const std::string& path) {
  Names names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end && names.all.size() < most_entries; entry.increment(error))
    names.all.push_back(entry->path().filename().string());
  std::sort(names.all.begin(), names.all.end());
  return names;
}

std::string with_files(const std::vector<std::string>& files) {
  std::string text = "is a folder, in which ";
  text += files.size() == 1 ? "lies " : "lie ";
  for (size_t i = 0; i < std::min(files.size(), most_named); ++i) text += (i > 0 ? ", " : "") + files[i];
  if (files.size() > most_named) text += " and others";
  return text + (files.size() == 1 ? ": give that file" : ": give one of them");
}

std::string ending_of(const std::string& path) {
  const fs::path given(path);
  return (given.has_filename() ? given : given.parent_path()).extension().string();
}

}  // namespace

std::string folder_kind(const std::string& path) {
  const Names names = names_in(path);
  for (const char* ending : {".onnx", ".gguf"})
    if (const auto files = names.with_ending(ending); !files.empty()) return with_files(files);
  const std::string ending = ending_of(path);
  if (ending == ".mlpackage" || (names.have("Manifest.json") && names.have("Data")))
    return "is a Core ML package: give the network as its own framework exports it to ONNX";
  if (ending == ".mlmodelc" || names.have("coremldata.bin"))
    return "is a compiled Core ML model: give the network as its own framework exports it to ONNX";
  if (names.have("saved_model.pbtxt")) return "is a SavedModel in text form: save it again as saved_model.pb";
  if (!names.with_ending(".engine").empty() || !names.with_ending(".plan").empty())
    return "holds a TensorRT engine: give the ONNX file that it was built from";
  if (names.have_both(".xml", ".bin")) return "holds a network in OpenVINO's IR: give the ONNX file that it was converted from";
  if (names.have_both(".param", ".bin")) return "holds a network of ncnn: give the ONNX file that it was made from";
  const bool has_weights = !names.with_ending(".safetensors").empty() || names.have("pytorch_model.bin");
  if (has_weights && names.have("config.json"))
    return "is a folder of Hugging Face: 'optimum-cli export onnx --model FOLDER OUTPUT' writes the network as ONNX";
  if (names.have("config.json") && names.have("model.weights.h5"))
    return "is a folder of Keras: model.export(FILE, format='onnx') in Keras writes the network as ONNX";
  if (!names.with_ending(".ckpt.index").empty() || (names.have("checkpoint") && !names.with_ending(".index").empty()))
    return "holds a TensorFlow checkpoint: save it as a SavedModel and give that folder";
  return "is a folder: give an ONNX file, a GGUF file or the folder of a SavedModel";
}

}  // namespace deepgap
