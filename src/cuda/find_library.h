// Opens a library of NVIDIA's that comes with a toolkit or with an engine's packages: the compiler, the profiler.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace deepgap::cuda {

struct LibrarySought {
  std::string title;                           // "NVRTC"
  std::string kind;                            // kind of library: "the CUDA compiler as a library"
  std::vector<const char*> names;              // newest first: "libnvrtc.so.13"
  std::string variable;                        // environment variable that names the file; if it is set, nothing else is tried
  std::string package;                         // package that has it, beside torch and a toolkit: "nvidia-cuda-nvrtc"
  std::vector<std::filesystem::path> folders;  // to look in before the system's own
};
struct FoundLibrary {
  void* handle = nullptr;  // stays open
  std::string path;
};

// Tries `file` alone if it is not empty. Throws Error{refused} that lists where it looked.
FoundLibrary find_library(const LibrarySought& sought, const std::string& file = {});

// Returns the address of the library's function of that name. Throws Error{refused} if there is none: then `title` cannot be used.
void* address_of(const FoundLibrary& library, const std::string& title, const char* name);
template <typename Function>
void find_function(const FoundLibrary& library, const std::string& title, const char* name, Function& function) {
  function = reinterpret_cast<Function>(address_of(library, title, name));
}

}  // namespace deepgap::cuda
