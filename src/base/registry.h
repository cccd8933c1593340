// Registry: the known implementations of a seam by name. A file adds itself with a static registrar, so a new metric, scenario, probe or
// zoo model is one new file and no edit elsewhere:
//     const bool registered = Registry<Scenario>::instance().add("batch", [] { return std::make_unique<BatchScenario>(); });
// Modules are OBJECT libraries, since a static library would drop such a file silently; a test asserts that the known names exist.
// Filled before main(), read-only afterwards.
#pragma once

#include "base/text.h"

#include <deepgap/error.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

template <typename T>
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<T>()>;

  static Registry& instance() {
    static Registry registry;
    return registry;
  }
  bool add(const std::string& name, Factory factory) { return factories_.emplace(name, std::move(factory)).second; }
  bool contains(const std::string& name) const { return factories_.count(name) != 0; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, factory] : factories_) names.push_back(name);
    return names;
  }
  // Throws Error{usage}: "unknown KIND 'nmae', did you mean 'name'?"
  std::unique_ptr<T> make(const std::string& kind, const std::string& name) const {
    const auto found = factories_.find(name);
    if (found == factories_.end()) throw Error(ErrorKind::usage, unknown_name(kind, name, names()));
    return found->second();
  }

 private:
  std::map<std::string, Factory> factories_;
};

}  // namespace deepgap
