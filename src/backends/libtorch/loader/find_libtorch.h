// Where LibTorch is. It is half a gigabyte, so it does not come with deepgap: the plug-in looks for one that is installed and loads it by
// its path, before the engine that needs it.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

// The folder with libtorch_cpu.so: of DEEPGAP_LIBTORCH (a torch package, its lib folder or an unpacked LibTorch; then nowhere else), the
// tree's .venv, the installation found when deepgap was built, or the `torch` of the Python on PATH.
// Throws Error{refused} naming the places where it is not, or the version that does not fit.
std::string find_libtorch();

// "2.11.0" or "2.11.0+cu130" of the installation whose libraries are in `folder`; empty when it does not say.
std::string libtorch_version(const std::string& folder);
// Why this version cannot be used by an engine that was built against `built`; empty when it can. The C++ interface holds within one
// minor release only.
std::string libtorch_version_defect(const std::string& version, const std::string& built);

}  // namespace deepgap
