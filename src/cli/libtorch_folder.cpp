#include "cli/libtorch_folder.h"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace deepgap {

void declare_libtorch_folder(CLI::App& app) {
  app.add_option_function<std::string>(
         "--libtorch", [](const std::string& folder) { ::setenv("DEEPGAP_LIBTORCH", std::filesystem::absolute(folder).c_str(), 1); },
         "Use this torch package or unpacked LibTorch [default: the one of the build, then the torch of the Python on PATH]")
      ->type_name("DIR");
}

}  // namespace deepgap
