#include "dataset/dataset_content.h"

#include "base/hash.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr size_t block = 4096, step = size_t{1} << 20;

std::vector<fs::path> files_below(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path, fs::directory_options::follow_directory_symlink)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Content {
 public:
  explicit Content(size_t whole_bytes) : whole_left_(whole_bytes) {}

  void add(const fs::path& path) {
    for (const fs::path& file : files_below(path)) {
      hasher_.add(file == path ? std::string() : file.lexically_relative(path).string());
      add_file(file);
    }
  }
  std::string digest() const { return hasher_.digest(); }

 private:
  void add_file(const fs::path& path) {
    const size_t size = fs::file_size(path);
    hasher_.add_value(size);
    const bool whole = size <= whole_left_;
    if (whole) whole_left_ -= size;
    std::ifstream file(path, std::ios::binary);
    std::array<char, block> bytes;
    for (size_t at = 0; at < size; at += whole ? block : step) {
      file.seekg(static_cast<std::streamoff>(at));
      file.read(bytes.data(), block);
      hasher_.add(std::as_bytes(std::span(bytes.data(), static_cast<size_t>(file.gcount()))));
      file.clear();
    }
  }

  Hasher hasher_;
  size_t whole_left_;
};

}  // namespace

std::string dataset_content(const std::string& name, const std::string& labels, size_t whole_bytes) {
  const bool has_known_name = name == "seeded" || name == "zeros" || name == "pictures" || name == "crops" || name.starts_with("crops:");
  std::error_code error;
  if ((has_known_name && labels.empty()) || (!has_known_name && !fs::exists(name, error))) return {};
  Content content(whole_bytes);
  if (!has_known_name) content.add(name);
  if (!labels.empty() && fs::exists(labels, error)) content.add(labels);
  return content.digest();
}

}  // namespace deepgap
