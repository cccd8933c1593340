// Opens backend plug-ins. Only in a worker or inspection child, never in the parent.
#pragma once

#include <deepgap/backend.h>

#include <memory>
#include <string>
#include <vector>

namespace deepgap {

// A Backend and the library it lives in, closed in the right order.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual Backend& backend() = 0;
};

// Throws Error{refused}: no such plug-in ("did you mean"), its library's own reason, another ABI or build tag.
std::unique_ptr<Plugin> open_plugin(const std::string& name);
std::vector<std::string> plugin_names();  // of the files found
std::string plugin_dir();                 // $DEEPGAP_PLUGINS, else ../lib/deepgap relative to the program
// Backends that are not here by design, with the reason ("tensorrt", "tensorflow").
struct AbsentBackend {
  std::string name, reason;
};
std::vector<AbsentBackend> absent_backends();

}  // namespace deepgap
