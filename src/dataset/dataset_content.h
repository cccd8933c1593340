// Hashes the content of a dataset's files: the same for a copy at another path, another when a file is added, renamed or changed.
#pragma once

#include <cstddef>
#include <string>

namespace deepgap {

// Returns an empty text for generated or packaged samples (seeded, zeros, crops, pictures), whose name says all, and for missing files. The
// files are read whole until `whole_bytes` of them were read; of the rest only names, sizes and 4 KiB of each MiB are hashed, since an
// archive of 50,000 images must not be read before every run. `labels` is a file that belongs to them, or empty.
std::string dataset_content(const std::string& name, const std::string& labels, size_t whole_bytes = size_t{256} << 20);

}  // namespace deepgap
