#include "cli/export_output.h"

#include "base/console.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace deepgap {
namespace {

[[noreturn]] void fail_on_standard_output() {
  if (errno == EPIPE) end_by_closed_pipe();
  throw Error(ErrorKind::store, fmt::format("cannot write standard output: {}", std::strerror(errno)));  // exit code 3 in every command
}

}  // namespace

ExportOutput::ExportOutput(const std::string& path) {
  if (!path.empty()) file_.emplace(path);
}

void ExportOutput::write(std::string_view text) {
  if (file_) return file_->write(text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_on_standard_output();
}

void ExportOutput::finish() {
  if (file_) return file_->finish();
  if (std::fflush(stdout) != 0) fail_on_standard_output();
}

}  // namespace deepgap
