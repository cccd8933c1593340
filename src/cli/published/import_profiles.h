// Profiles that `deepgap export --profile` wrote as JSON, for the Store again. Pure function; any thread.
#pragma once

#include <map>
#include <string>

namespace deepgap {

// Returns profiles by record_id, as a Store keeps them. Throws Error{input} "FILE: cause": not exported profiles, damaged, or repeated.
std::map<std::string, std::string> read_exported_profiles(const std::string& text, const std::string& path);

}  // namespace deepgap
