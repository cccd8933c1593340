#include "base/file.h"
#include "base/output_file.h"
#include "base/sha256.h"
#include "site/site.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr const char* marker = "deepgap-site.txt";
constexpr std::string_view marker_text =
    "deepgap site made index.html and data-*/ in this folder and replaces them when it is run again. Other files stay as they are.\n";
constexpr const char* data_prefix = "data-";
constexpr size_t data_digits = 16;

bool is_data_folder(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const std::string_view prefix = data_prefix;
  if (!name.starts_with(prefix) || name.size() != prefix.size() + data_digits) return false;
  if (name.find_first_not_of("0123456789abcdef", prefix.size()) != std::string::npos) return false;
  return !entry.is_symlink() && entry.is_directory() && fs::exists(entry.path() / "site.js");
}

std::string folder_name(const std::vector<SiteFile>& files) {
  std::string hashes;
  for (const SiteFile& file : files) hashes += file.name + " " + sha256(file.text) + "\n";
  return data_prefix + sha256(hashes).substr(0, data_digits);
}

void remove_old_data(const fs::path& folder, const std::string& kept) {
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (is_data_folder(entry) && entry.path().filename() != kept) old.push_back(entry.path());
  }
  std::error_code ignored;  // what cannot go costs space and nothing else
  for (const fs::path& path : old) fs::remove_all(path, ignored);
}

void write_data(const fs::path& data, const std::vector<SiteFile>& files) {
  if (fs::is_symlink(data)) throw Error(ErrorKind::input, fmt::format("{} is a link: remove it", data.string()));
  const bool is_new = !fs::exists(data);
  try {
    make_directories(data.string());
    for (const SiteFile& file : files) write_file_atomic((data / file.name).string(), file.text);
  } catch (const Error&) {
    std::error_code ignored;
    if (is_new) fs::remove_all(data, ignored);
    throw;
  }
}

}  // namespace

void require_site_folder(const std::string& path) {
  if (path.empty()) throw Error(ErrorKind::usage, "invalid value '' for --output: expected a folder, such as site");
  refuse_foreign_links(path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status))
    throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --output: it is not a folder; name a new one, such as site", path));
  const bool is_empty = fs::directory_iterator(path, error) == fs::directory_iterator();
  if (error) throw Error(ErrorKind::input, fmt::format("cannot read {}: {}", path, error.message()));
  if (!is_empty && !fs::is_regular_file(fs::path(path) / marker))
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for --output: the folder is neither empty nor a site of deepgap; name a new one", path));
}

void write_site(const std::string& path, const Results& results, const SiteOptions& options) {
  require_site_folder(path);
  const fs::path folder(path);
  const std::vector<SiteFile> files = site_files(results, options);
  const std::string data = folder_name(files);
  const bool is_new = !fs::exists(folder);
  try {
    make_directories(path);
    write_file_atomic((folder / marker).string(), marker_text);
    write_data(folder / data, files);
    write_file_atomic((folder / "index.html").string(), site_page(results, options, data));
  } catch (const Error&) {
    std::error_code ignored;
    if (is_new) fs::remove_all(folder, ignored);
    throw;
  }
  remove_old_data(folder, data);
}

}  // namespace deepgap
