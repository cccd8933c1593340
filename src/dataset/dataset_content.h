// What a dataset of files holds, as one hash: the same for a copy at another path, another one when a file is added, renamed or changed.
#pragma once

#include <cstddef>
#include <string>

namespace deepgap {

// Empty for samples that are made up or packaged (seeded, zeros, crops, pictures), which their name tells, and for what is not there. The
// files are read whole until `whole_bytes` of them were; of what comes after, names, sizes and 4 KiB of each MiB are meant, since an
// archive of 50,000 pictures is not to be read before every run. `labels`: a file that belongs to them, or empty.
std::string dataset_content(const std::string& name, const std::string& labels, size_t whole_bytes = size_t{256} << 20);

}  // namespace deepgap
