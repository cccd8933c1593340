// Where `deepgap export` writes to: standard output, or a file that appears under its name only when it is whole.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace deepgap {

// A pipe whose reader has left is no error: `| head`.
class ExportOutput {
 public:
  // `path` empty: standard output. What is no regular file (/dev/null, a pipe) is written to as it is. Throws Error{input}, as the others
  // do.
  explicit ExportOutput(const std::string& path);
  ~ExportOutput();
  ExportOutput(const ExportOutput&) = delete;
  ExportOutput& operator=(const ExportOutput&) = delete;

  void write(std::string_view text);
  void finish();

 private:
  [[noreturn]] void check_pipe() const;
  [[noreturn]] void fail() const;

  std::string path_, written_path_;
  std::FILE* file_ = stdout;
  bool temporary_ = false;
};

}  // namespace deepgap
