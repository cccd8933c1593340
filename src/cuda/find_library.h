// Opens a library of NVIDIA's that comes with a toolkit or with an engine's packages: the compiler, the profiler.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace deepgap::cuda {

struct LibrarySought {
  std::string title;                           // "NVRTC"
  std::string kind;                            // of library: "the CUDA compiler as a library"
  std::vector<const char*> names;              // newest first: "libnvrtc.so.13"
  std::string variable;                        // of the environment, which names the file and is then all that is tried
  std::string package;                         // that has it, beside torch and a toolkit: "nvidia-cuda-nvrtc"
  std::vector<std::filesystem::path> folders;  // to look in before the system's own
};
struct FoundLibrary {
  void* handle = nullptr;  // stays open
  std::string path;
};

// `file`: that one alone, where it is not empty. Throws Error{refused} that tells where it was looked for.
FoundLibrary find_library(const LibrarySought& sought, const std::string& file = {});

// Where the library has a function of that name. Throws Error{refused} where it has none: it is no `title` that can be used.
void* address_of(const FoundLibrary& library, const std::string& title, const char* name);
template <typename Function>
void find_function(const FoundLibrary& library, const std::string& title, const char* name, Function& function) {
  function = reinterpret_cast<Function>(address_of(library, title, name));
}

}  // namespace deepgap::cuda
