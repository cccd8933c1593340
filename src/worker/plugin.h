// Opens backend plug-ins. Only in a worker or inspection child, never in the parent.
#pragma once

#include <deepgap/backend.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// A Backend and the library it lives in. The Backend is deleted with this; the library stays mapped until the process ends, since an
// engine's thread pool or an Error thrown in it may outlive the Backend.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual Backend& backend() = 0;
};

// Throws Error{usage} for a name that nobody knows ("did you mean"); Error{input} where no plug-in is found at all.
void require_backend_name(const std::string& name);

// Throws as require_backend_name(), and Error{refused}: absent, its library's own reason, another ABI or build tag. Any thread.
std::unique_ptr<Plugin> open_plugin(const std::string& name);
std::vector<std::string> plugin_names();  // names of the files found, sorted
// Where they are looked for: the folders of $DEEPGAP_PLUGINS, separated by ':', then ../lib/deepgap relative to the program. The first that
// has a plug-in of a name gives it.
std::vector<std::string> plugin_folders();
std::string plugin_path(const std::string& name);  // "" when none has it
// Returns whether one of these folders, separated by ':', has a plug-in of the name.
bool holds_plugin(const std::string& folders, const std::string& name);
std::string plugin_hash(const std::string& path);  // hash of the file's content, 32 hex digits; "" where it cannot be read

// Returns why a plug-in with this entry cannot be used by this program; nullopt when it can.
std::optional<std::string> plugin_defect(const BackendEntry& entry);

// Backends that are not here by design, with the reason ("tensorrt", "tensorflow"). A plug-in of that name, once found, is no longer
// absent.
struct AbsentBackend {
  std::string name, reason;
};
std::vector<AbsentBackend> absent_backends();

}  // namespace deepgap
