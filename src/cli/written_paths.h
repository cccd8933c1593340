// Checks that a command can write its output before its work begins, which may take hours.
#pragma once

#include <string>

namespace deepgap {

// Throws Error{usage} that begins with `flag` where `file` names no file ("-" and "" are none to ask about) in a folder that is there and
// may be written.
void require_folder_of(const std::string& flag, const std::string& file);
// Checks likewise a folder that is made when it is needed, with those above it.
void require_can_be_made(const std::string& flag, const std::string& folder);

}  // namespace deepgap
