#include "cli/libtorch_folder.h"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace deepgap {

void declare_libtorch_folder(CLI::App& app) {
  const auto name = [](const std::string& folder) {
    if (folder.empty()) return;  // CommandLine refuses it once all arguments are read, as it does for every flag
    ::setenv("DEEPGAP_LIBTORCH", std::filesystem::absolute(folder).c_str(), 1);
  };
  app.add_option_function<std::string>(
         "--libtorch", name,
         "Use this torch package or unpacked LibTorch [default: the one of the build, then the torch of the Python on PATH]")
      ->type_name("DIR");
}

}  // namespace deepgap
