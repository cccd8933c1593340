#include "cli/export_output.h"

#include "base/console.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace deepgap {

ExportOutput::ExportOutput(const std::string& path) : path_(path) {
  if (path.empty()) return;
  const bool direct = std::filesystem::exists(path) && !std::filesystem::is_regular_file(path);
  written_path_ = direct ? path : fmt::format("{}.unfinished-{}", path, ::getpid());
  file_ = std::fopen(written_path_.c_str(), "we");
  if (file_ == nullptr) fail();
  temporary_ = !direct;
}

ExportOutput::~ExportOutput() {
  if (file_ != stdout && file_ != nullptr) std::fclose(file_);
  if (temporary_) ::unlink(written_path_.c_str());
}

void ExportOutput::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) check_pipe();
}

void ExportOutput::finish() {
  if (std::fflush(file_) != 0) check_pipe();
  if (file_ == stdout) return;
  const int code = std::fclose(std::exchange(file_, nullptr));
  if (code != 0) fail();
  if (temporary_ && std::rename(written_path_.c_str(), path_.c_str()) != 0) fail();
  temporary_ = false;
}

void ExportOutput::check_pipe() const {
  if (file_ == stdout && errno == EPIPE) end_by_closed_pipe();
  fail();
}

void ExportOutput::fail() const {
  const ErrorKind kind = path_.empty() ? ErrorKind::store : ErrorKind::input;  // standard output is exit code 3 in every command
  throw Error(kind, fmt::format("cannot write {}: {}", path_.empty() ? "standard output" : path_, std::strerror(errno)));
}

}  // namespace deepgap
