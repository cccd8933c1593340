// The style sheet and the script that every HTML report carries inside. Light and dark, screen and phone and paper.
#pragma once

#include <string>
#include <string_view>

namespace deepgap {

std::string report_style();        // with the colours of palette.h
std::string_view report_script();  // sorts tables by a click on a heading; the report is complete without it

}  // namespace deepgap
