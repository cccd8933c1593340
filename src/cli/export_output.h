// The output of `deepgap export`: standard output, or a file that appears under its name only when it is whole.
#pragma once

#include "base/output_file.h"

#include <optional>
#include <string>
#include <string_view>

namespace deepgap {

// A pipe whose reader has left is no error: `| head`.
class ExportOutput {
 public:
  // `path` empty: standard output. Throws Error{input}, as the others do; of standard output Error{store}.
  explicit ExportOutput(const std::string& path);

  void write(std::string_view text);
  void finish();

 private:
  std::optional<OutputFile> file_;
};

}  // namespace deepgap
