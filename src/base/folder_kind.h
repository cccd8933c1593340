// Recognises, by what lies in it, a folder that people give where a file is wanted. Reads names alone.
#pragma once

#include <string>

namespace deepgap {

// A sentence without a subject, as of base/file_kind.h: "is a Core ML package: ...", "is a folder, in which lies net.onnx: give that file".
// Names of files are in it as they are.
std::string folder_kind(const std::string& path);

}  // namespace deepgap
