// The flag --libtorch of the commands that open engines.
#pragma once

#include <CLI/CLI.hpp>

namespace deepgap {

// Names the folder to every child process, by DEEPGAP_LIBTORCH.
void declare_libtorch_folder(CLI::App& app);

}  // namespace deepgap
