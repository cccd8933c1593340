#include "dataset/open_dataset.h"

#include "base/text.h"
#include "dataset/kinds.h"
#include "dataset/picture.h"
#include "dataset/picture_input.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr char how_to_get_data[] = "run ./quickstart, unpack the bundle's data archive, or set DEEPGAP_DATA";

std::vector<std::string> files_in(const std::string& folder, bool (*wanted)(const std::string&)) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && wanted(entry.path().string())) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_npy_name(const std::string& path) { return fs::path(path).extension() == ".npy"; }

std::unique_ptr<Dataset> open_folder(const DatasetRequest& request, const std::string& folder) {
  if (is_onnx_folder(folder)) return make_onnx_folder_dataset(request, folder);
  if (auto pictures = files_in(folder, is_picture_name); !pictures.empty()) return make_pictures_dataset(request, std::move(pictures));
  if (auto arrays = files_in(folder, is_npy_name); !arrays.empty()) return make_npy_dataset(request, std::move(arrays));
  throw Error(ErrorKind::input, fmt::format("{} holds no pictures, .npy files or ONNX test sets", folder));
}

std::unique_ptr<Dataset> open_file(const DatasetRequest& request, const std::string& path) {
  if (is_npy_name(path)) return make_npy_dataset(request, {path});
  return make_pictures_dataset(request, {path});  // by content: says so if it is none
}

std::unique_ptr<Dataset> open_crops(const DatasetRequest& request) {
  const std::string folder = request.data_dir + "/pictures";
  std::error_code error;
  std::vector<std::string> paths;
  if (fs::is_directory(folder, error)) paths = files_in(folder, is_picture_name);
  if (paths.empty()) {
    throw Error(ErrorKind::input,
                fmt::format("crops are cut out of the packaged pictures, which are not at {}; {}", folder, how_to_get_data));
  }
  return make_crops_dataset(request, std::move(paths));
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const DatasetRequest& request) {
  if (request.name == "seeded") return make_seeded_dataset(request);
  if (request.name == "zeros") return make_zeros_dataset(request);
  if (request.name == "crops" || request.name.starts_with("crops:")) return open_crops(request);
  const std::string path = request.name == "pictures" ? request.data_dir + "/pictures" : request.name;
  std::error_code error;
  if (fs::is_directory(path, error)) return open_folder(request, path);
  if (fs::exists(path, error)) return open_file(request, path);
  if (request.name == "pictures") {
    throw Error(ErrorKind::input, fmt::format("the packaged pictures are not at {}; {}", path, how_to_get_data));
  }
  if (request.name.find('/') != std::string::npos)
    throw Error(ErrorKind::input, fmt::format("there is no dataset file or folder {}", path));
  throw Error(ErrorKind::usage, unknown_name("dataset", request.name, {"seeded", "zeros", "pictures", "crops"}));
}

}  // namespace deepgap
