// Where LibTorch is. It is half a gigabyte, so it does not come with deepgap: the plug-in looks for one that is installed and loads it by
// its path, before the engine that needs it.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

// The folder with libtorch_cpu.so: of DEEPGAP_LIBTORCH (a torch package, its lib folder or an unpacked LibTorch; then nowhere else), of
// deps/torch beside the plug-in (in a build tree the one that it was built with), or the `torch` that the Python on PATH has installed.
// Throws Error{refused} naming the places where it is not, or the version that does not fit.
std::string find_libtorch();

// The package that the Python on PATH has installed as torch, which is not imported; empty without one. Python is asked in isolated mode:
// not the working directory's, nor PYTHONPATH's, nor a user's own.
std::string torch_of_python();

// "2.11.0" or "2.11.0+cu130" of the installation whose libraries are in `folder`; empty when it does not say.
std::string libtorch_version(const std::string& folder);
// Returns why this version cannot be used by an engine that was built against `built`; empty when it can. The C++ interface holds within
// one minor release only.
std::string libtorch_version_defect(const std::string& version, const std::string& built);

}  // namespace deepgap
