// The archive of deepgap that nodes of a fleet unpack on their own disks. Main thread only.
#pragma once

#include <string>

namespace deepgap {

// Requires an archive that tar reads and that holds FOLDER/bin/deepgap. Throws Error{input} for any other file.
void require_bundle(const std::string& path);

}  // namespace deepgap
