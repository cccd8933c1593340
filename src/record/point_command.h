// The command line that measures a Point. Pure.
#pragma once

#include <deepgap/point.h>

#include <string>

namespace deepgap {

// "deepgap run --model resnet50 --precision int8 --threads 2 ...": what is as it would be if left out is left out.
std::string run_command_of(const Point& point);

// Returns the text as one word for a shell: in quotes if it must be.
std::string shell_quoted(const std::string& text);

}  // namespace deepgap
