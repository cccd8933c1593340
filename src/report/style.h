// The style sheet and the script that every HTML report carries inside. Light and dark, screen and phone and paper.
#pragma once

#include <string>

namespace deepgap {

std::string report_style();   // with the colours of palette.h
std::string report_script();  // explore.js: sorting, values, axes, copies, filters; pages are complete without it

}  // namespace deepgap
