// Packages of the Python that is on PATH.
#pragma once

#include <string>

namespace deepgap {

// The folder of an installed package, which is not imported; empty without one. Python is asked in isolated mode: not the working
// directory's packages, nor PYTHONPATH's, nor a user's own. `package` is a plain name such as torch.
std::string folder_of_python_package(const std::string& package);

}  // namespace deepgap
