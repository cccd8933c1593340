// FileKind: a kind of file that the confined child reads first for other subcommands (cmd_read.cpp). They add themselves to the Registry.
#pragma once

#include "base/registry.h"

#include <functional>
#include <memory>
#include <string>

namespace deepgap {

struct FileKind {
  std::function<void(const std::string& path)> read;  // throws Error where the file is damaged
};

inline bool add_file_kind(const std::string& name, const std::function<void(const std::string& path)>& read) {
  return Registry<FileKind>::instance().add(name, [read] { return std::make_unique<FileKind>(FileKind{read}); });
}

}  // namespace deepgap
