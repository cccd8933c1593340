// Which of a Point's options are meant for one backend: those named plainly and those prefixed "NAME.", which win. For Backend::supports,
// so that a value nobody can read is found before anything runs.
#pragma once

#include <deepgap/point.h>

#include <map>
#include <string>

namespace deepgap {

inline std::map<std::string, std::string> own_options(const Point& point, const std::string& backend) {
  std::map<std::string, std::string> own;
  const std::string prefix = backend + ".";
  for (const auto& [name, value] : point.options) {
    if (name.starts_with(prefix)) {
      own[name.substr(prefix.size())] = value;
    } else if (name.find('.') == std::string::npos) {
      own.emplace(name, value);
    }
  }
  return own;
}

}  // namespace deepgap
