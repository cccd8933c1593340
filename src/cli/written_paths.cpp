#include "cli/written_paths.h"

#include "base/output_file.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& flag, const std::string& path, const std::string& cause) {
  throw Error(ErrorKind::usage, fmt::format("{} {}: {}", flag, path, cause));
}

bool may_be_written(const fs::path& folder) { return ::access(folder.c_str(), W_OK | X_OK) == 0; }

}  // namespace

void require_folder_of(const std::string& flag, const std::string& file) {
  if (file.empty() || file == "-") return;
  std::error_code error;
  if (fs::is_directory(file, error)) fail(flag, file, "it is a folder; name a file");
  const OutputTarget target = output_target(file);
  const fs::path folder = fs::absolute(target.path).parent_path();
  if (!fs::is_directory(folder, error)) fail(flag, file, fmt::format("folder {} does not exist", folder.string()));
  if (!fs::exists(file, error) && !may_be_written(folder)) fail(flag, file, fmt::format("{} cannot be written", folder.string()));
}

void require_can_be_made(const std::string& flag, const std::string& folder) {
  if (folder.empty()) return;
  std::error_code error;
  fs::path there = fs::absolute(folder);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) fail(flag, folder, fmt::format("{} is not a folder", there.string()));
  if (!may_be_written(there)) fail(flag, folder, fmt::format("{} cannot be written", there.string()));
}

}  // namespace deepgap
