#include "dataset/open_dataset.h"

#include "base/messages.h"
#include "dataset/kinds.h"
#include "dataset/labels.h"
#include "dataset/picture.h"
#include "dataset/picture_input.h"
#include "model/onnx_test_set.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

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

std::string name_of_folder(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

// Returns the images among a folder's own files or, if there are none, the arrays.
std::vector<std::string> sample_files(const std::string& folder) {
  auto files = files_in(folder, is_picture_name);
  return files.empty() ? files_in(folder, is_npy_name) : files;
}

// Sorted; none where no folder holds samples.
std::vector<std::string> class_folders(const std::string& folder) {
  std::vector<std::string> names;
  bool any = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with('.')) continue;
    names.push_back(name);
    any = any || !sample_files(entry.path().string()).empty();
  }
  std::sort(names.begin(), names.end());
  return any ? names : std::vector<std::string>();
}

// The first of each class, then the second of each, so that the first few samples, by which outputs are checked and INT8 is calibrated,
// are of many classes.
LabelledFiles files_by_class(const std::string& folder, const std::vector<std::string>& classes, const std::vector<int64_t>& labels) {
  LabelledFiles files;
  files.labels.source = fmt::format("{} folders", classes.size());
  std::vector<std::vector<std::string>> of_class;
  size_t most = 0;
  for (const std::string& name : classes) {
    of_class.push_back(sample_files((fs::path(folder) / name).string()));
    most = std::max(most, of_class.back().size());
  }
  for (size_t turn = 0; turn < most; ++turn) {
    for (size_t i = 0; i < classes.size(); ++i) {
      if (turn >= of_class[i].size()) continue;
      files.paths.push_back(of_class[i][turn]);
      files.labels.classes.push_back(labels[i]);
    }
  }
  return files;
}

// The label file that was named, else MLPerf's own beside the samples.
std::optional<LabelFile> label_file(const DatasetRequest& request, const std::string& folder) {
  if (!request.labels.empty()) return LabelFile(request.labels);
  const std::string map = (fs::path(folder) / "val_map.txt").string();
  std::error_code error;
  return fs::is_regular_file(map, error) ? std::optional(LabelFile(map)) : std::nullopt;
}

// Returns a folder's samples in their order, without labels if nothing gives them.
LabelledFiles samples_of_folder(const DatasetRequest& request, const std::string& folder) {
  const auto list = label_file(request, folder);
  std::vector<std::string> files = sample_files(folder);
  const std::vector<std::string> classes = files.empty() ? class_folders(folder) : std::vector<std::string>();
  std::vector<int64_t> numbers(classes.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  if (list && !classes.empty() && list->lists_classes(classes)) {
    auto found = files_by_class(folder, classes, list->classes_of(classes));
    found.labels.source += " listed in " + fs::path(list->path()).filename().string();
    return found;
  }
  if (!list && !classes.empty()) return files_by_class(folder, classes, numbers);
  if (!classes.empty()) files = files_by_class(folder, classes, numbers).paths;
  if (!list || files.empty()) return {files, {}};
  if (names_files(*list)) return files_of_list(*list, folder, files);
  if (!classes.empty()) throw Error(ErrorKind::input, fmt::format("{} names no file and no folder of {}", list->path(), folder));
  Labels labels = labels_in_order(*list, files.size(), folder);
  return {std::move(files), std::move(labels)};
}

void require_one_kind(const std::vector<std::string>& paths) {
  const auto other = std::find_if(paths.begin(), paths.end(), [&](const auto& path) { return is_npy_name(path) != is_npy_name(paths[0]); });
  if (other != paths.end()) throw Error(ErrorKind::input, fmt::format("{} and {} are not of one kind", paths[0], *other));
}

std::unique_ptr<TensorsDataset> dataset_of_files(const DatasetRequest& request, LabelledFiles files, const std::string& name) {
  require_one_kind(files.paths);
  auto dataset = is_npy_name(files.paths[0]) ? make_npy_dataset(request, std::move(files.paths))
                                             : make_pictures_dataset(request, std::move(files.paths), name);
  if (files.labels.classes.empty()) return dataset;
  place_labels(files.labels, request.label_offset, request.classes);
  dataset->set_labels(std::move(files.labels));
  return dataset;
}

void label_in_order(const DatasetRequest& request, TensorsDataset& dataset, const std::string& name) {
  if (request.labels.empty()) return;
  Labels labels = labels_in_order(LabelFile(request.labels), dataset.size(), name);
  place_labels(labels, request.label_offset, request.classes);
  dataset.set_labels(std::move(labels));
}

std::unique_ptr<TensorsDataset> open_folder(const DatasetRequest& request, const std::string& folder) {
  if (const auto sets = onnx_test_sets(folder); !sets.empty()) {
    auto dataset = make_onnx_folder_dataset(request, sets);
    label_in_order(request, *dataset, folder);
    return dataset;
  }
  LabelledFiles files = samples_of_folder(request, folder);
  if (files.paths.empty())
    throw Error(ErrorKind::input, fmt::format("{} holds no images, .npy files, folders of them or ONNX test sets", folder));
  return dataset_of_files(request, std::move(files), name_of_folder(folder));
}

std::unique_ptr<TensorsDataset> open_file(const DatasetRequest& request, const std::string& path) {
  const std::string name = name_of_folder(fs::path(path).parent_path().string());
  // The content decides whether it is an image; the decoder says so if it is not.
  auto dataset = is_npy_name(path) ? make_npy_dataset(request, {path}) : make_pictures_dataset(request, {path}, name);
  label_in_order(request, *dataset, path);
  return dataset;
}

std::unique_ptr<TensorsDataset> open_crops(const DatasetRequest& request) {
  const std::string folder = request.data_dir + "/pictures";
  std::error_code error;
  std::vector<std::string> paths;
  if (fs::is_directory(folder, error)) paths = files_in(folder, is_picture_name);
  if (paths.empty()) {
    throw Error(ErrorKind::input, fmt::format("crops are cut out of the bundled images, which are not at {}; {}", folder, how_to_get_data));
  }
  return make_crops_dataset(request, std::move(paths));
}

std::unique_ptr<TensorsDataset> open_kind(const DatasetRequest& request) {
  const bool made_up = request.name == "seeded" || request.name == "zeros" || request.name == "crops" || request.name.starts_with("crops:");
  if (made_up && !request.labels.empty()) {
    throw Error(
        ErrorKind::usage,
        fmt::format("labels are of samples in files: name them with --dataset, or leave out --labels {}; the samples of '{}' are made up",
                    request.labels, request.name));
  }
  if (request.name == "seeded") return make_seeded_dataset(request);
  if (request.name == "zeros") return make_zeros_dataset(request);
  if (request.name == "crops" || request.name.starts_with("crops:")) return open_crops(request);
  const std::string path = request.name == "pictures" ? request.data_dir + "/pictures" : request.name;
  std::error_code error;
  if (fs::is_directory(path, error)) return open_folder(request, path);
  if (fs::exists(path, error)) return open_file(request, path);
  if (request.name == "pictures") {
    throw Error(ErrorKind::input, fmt::format("the bundled images are not at {}; {}", path, how_to_get_data));
  }
  if (request.name.find('/') != std::string::npos)
    throw Error(ErrorKind::input, fmt::format("there is no dataset file or folder {}", path));
  throw Error(ErrorKind::usage, invalid_choice(request.name, "dataset", {"seeded", "zeros", "pictures", "crops"}, "a path"));
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const DatasetRequest& request) {
  std::unique_ptr<TensorsDataset> dataset = open_kind(request);
  dataset->give(request);
  return dataset;
}

}  // namespace deepgap
