// Parses the values behind a flag that is an axis. Looks at which files there are.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

// parse_axis_values(), but that a file whose name has commas is one value, where `axis` takes files, and that names are as we spell them
// (plan/usual_names.h, usual_model()). Throws Error{usage} naming `place`.
std::vector<std::string> axis_values(const std::string& axis, const std::string& text, const std::string& place);

// A zoo name written otherwise, "ResNet-50" or "mobilenetv2", as the zoo has it; anything else as it is.
std::string usual_model(const std::string& name);

// Returns whether usual_model() is one of the zoo, whatever options follow.
bool is_zoo_name(const std::string& name);

// Returns whether a word without a flag names a study file; otherwise it names a model.
bool is_study_word(const std::string& word);

}  // namespace deepgap
