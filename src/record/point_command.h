// The command line that measures a Point. Pure.
#pragma once

#include <deepgap/point.h>

#include <string>

namespace deepgap {

// "deepgap run --model resnet50 --precision int8 --threads 2 ...": what is as it would be if left out is left out.
std::string run_command_of(const Point& point);

// As a shell takes it as one word: in quotes where it must be.
std::string shell_quoted(const std::string& text);

}  // namespace deepgap
