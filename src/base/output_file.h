// A file that a user named to be written, or that others read while it is written anew: it appears under its name only when it is whole.
//
// Where the name is a link, what it leads to is replaced and not the link. What is there and no regular file (a device, a pipe,
// /dev/stdout) is written to as it is. Every error is an Error{input} naming the path and the system's reason. One thread.
#pragma once

#include "base/file.h"

#include <string>
#include <string_view>

namespace deepgap {

// The target that writing to a path ends at.
struct OutputTarget {
  std::string path;       // links followed, also one to nothing yet; nothing is made
  int descriptor = -1;    // number of this process's descriptor that the path names: /dev/stdout, /dev/fd/3
  bool as_it_is = false;  // no regular file: nothing can take its place
};
OutputTarget output_target(const std::string& path);
// Throws Error{input} where `path` leads through a link that another user put into a shared folder (/tmp): the rule is that of the kernel's
// fs.protected_symlinks, whether that is on or not. For files that a library opens by their names; output_target() has it built in.
void refuse_foreign_links(const std::string& path);

class OutputFile {
 public:
  enum class Links { followed, replaced };
  // Opens the output; a file that is there already stays untouched until finish().
  explicit OutputFile(const std::string& path, Links links = Links::followed);
  ~OutputFile();  // without finish() nothing stays, but for what a device or pipe has got
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void finish();

 private:
  void write_through(std::string_view text);
  [[noreturn]] void fail(int error) const;

  std::string path_, target_, temporary_, kept_;  // kept_: not written yet
  FileDescriptor file_;
};

}  // namespace deepgap
