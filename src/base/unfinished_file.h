// A file in the making, under another name in the folder of the one that it becomes: TARGET.unfinished-1a2b3c4d. It is locked while
// somebody writes it. The lock distinguishes it from files that killed processes left, which are removed by whoever writes TARGET
// next.
#pragma once

#include "base/file.h"

#include <string>

namespace deepgap {

// Removes what killed processes of this user left of earlier attempts at `target`, then makes an empty file of mode 0644 and locks it: as
// long as the descriptor lives, nobody takes it for left over. `path` becomes its name. Not valid, with errno: it cannot be made.
FileDescriptor make_unfinished_file(const std::string& target, std::string& path);

}  // namespace deepgap
